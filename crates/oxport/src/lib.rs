//! Run, check and improve programs exported by torch.export.
