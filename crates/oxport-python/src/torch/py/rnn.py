# torch.nn.utils.rnn: sequences of several lengths. The lengths are those of tensors, so nothing is packed.
import torch

PackedSequence = ()


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    return torch.ops.aten.pad_sequence(list(sequences), batch_first, float(padding_value), padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    positions = torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [sequence[positions < length] for sequence, length in zip(padded_sequences, lengths)]
