"""Makes the weights, inputs and outputs of tests/models with PyTorch. By hand: python models.py FOLDER [NAME...]."""

import sys

import torch
from safetensors.torch import save_file

sys.path.insert(0, sys.argv[1])
import models as m  # noqa: E402

torch.manual_seed(0)
cases = {
    "Mlp": (m.Mlp(), [torch.randn(3, 8)]),
    "Cnn": (m.Cnn(), [torch.randn(2, 3, 16, 16)]),
    "Cell": (m.Cell(), [torch.randn(3, 2, 4), torch.randn(2, 4), torch.randn(2, 4)]),
    "Attention": (m.Attention(), [torch.randn(2, 5, 8)]),
    "Tagger": (m.Tagger(), [torch.randint(0, 11, (2, 5))]),
    "Encoder": (m.Encoder(), [torch.randn(2, 5, 8)]),
    "Inplace": (m.Inplace(), [torch.randn(4, 3)]),
    "Library": (m.Library(), [torch.randn(2, 4, 5)]),
    "function": (m.function, [torch.randn(4, 3), torch.randn(4, 3)]),
    "Losses": (m.Losses(), [torch.randn(4, 5), torch.randn(4, 5), torch.randint(0, 5, (4,))]),
    "constants": (m.constants, [torch.randn(2, 8)]),
    "layouts": (m.layouts, [torch.randn(4, 3)]),
    "Critic": (m.Critic(), [torch.randn(2, 2, 4)]),
    "Heads": (m.Heads(), [torch.randn(2, 5, 8), torch.randn(2, 3, 6), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])]),
    "Methods": (m.Methods(), [torch.randn(3, 4), torch.randn(3, 4)]),
    "Mixed": (m.Mixed(), [torch.randn(3, 2, 4)]),
    "Odds": (m.Odds(), [torch.randn(5, 4)]),
}
for name, (model, inputs) in cases.items():
    if sys.argv[2:] and name not in sys.argv[2:]:
        continue
    tensors = {f"in.{i}": x for i, x in enumerate(inputs)}
    if isinstance(model, torch.nn.Module):
        model.eval()
        for key, buffer in model.named_buffers():
            if buffer.is_floating_point() and key in model.state_dict():
                buffer.uniform_(0.5, 1.5)
        tensors |= {f"w.{k}": v.detach().clone().contiguous() for k, v in model.state_dict().items()}
    with torch.no_grad():
        leaves = torch.utils._pytree.tree_leaves(model(*[x.clone() for x in inputs]))
    tensors |= {f"out.{i}": y.clone().contiguous() for i, y in enumerate(leaves) if torch.is_tensor(y)}
    save_file(tensors, f"{sys.argv[1]}/{name}.safetensors")
