//! Archives and program JSON of torch.export, safely read and faithfully written.
