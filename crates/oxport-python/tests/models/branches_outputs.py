# Writes branches.tsv: what PyTorch gives for the functions and modules of branches.py, run eagerly on drawn inputs.
import inspect
import pathlib

import branches
import torch

HERE = pathlib.Path(__file__).parent


def flat(value):
    values = value if isinstance(value, (tuple, list)) else [value]
    return [torch.as_tensor(v) for v in values]


def text(tensor):
    return ",".join(repr(float(v)) for v in tensor.flatten())


generator = torch.Generator().manual_seed(1)
inputs = [
    torch.tensor([1.0, 2.0, -0.5, 0.25]),
    torch.tensor([-1.0, -2.0, 0.5, -0.25]),
    torch.tensor([0.125, -0.25, 0.375, 0.0]),
    torch.randn(4, generator=generator),
    torch.randn(4, generator=generator) * 3,
]
rows = []
for name, entry in vars(branches).items():
    is_module = inspect.isclass(entry) and issubclass(entry, torch.nn.Module)
    if getattr(entry, "__module__", "") != "branches" or not (inspect.isfunction(entry) or is_module):
        continue
    for x in inputs:
        function = entry() if is_module else entry
        outputs = flat(function(x.clone()))
        shapes = ";".join(f"{str(o.dtype)[6:]}:{list(o.shape)}:{text(o)}" for o in outputs)
        rows.append(f"{name}\t{text(x)}\t{shapes}")
(HERE / "branches.tsv").write_text("\n".join(rows) + "\n")
print(len(rows), "rows")
