"""Makes the programs of this folder, and the tables to score with them.

    python export.py programs          # needs torch
    python export.py fixtures          # needs torch and pyarrow: small tables, and what PyTorch gives for them
    python export.py table N FILE      # needs pyarrow: N rows of 16 features, an id and a list of the features

The weights are small integers divided by powers of two, so that the files are the same whichever machine makes them.
"""

import sys


def weights(rows, columns, seed):
    """Numbers in -1..1 by a linear congruence, as PyTorch's generator differs between versions."""
    import torch

    state, out = seed, []
    for _ in range(rows * columns):
        state = (state * 1103515245 + 12345) % (1 << 31)
        out.append(((state >> 16) % 255 - 127) / 256)
    return torch.tensor(out).reshape(rows, columns)


def programs():
    import torch
    from torch import nn
    from torch.export import Dim, export, save

    class Tabular(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
            for i, layer in enumerate(self.layers):
                if isinstance(layer, nn.Linear):
                    layer.weight.data = weights(layer.out_features, layer.in_features, i + 1)
                    layer.bias.data = weights(1, layer.out_features, i + 7)[0]

        def forward(self, x):
            return self.layers(x)

    class Several(nn.Module):
        """A dictionary of inputs, one of them lists; two outputs with a batch, one without."""

        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)
            self.table.weight.data = weights(10, 4, 3)

        def forward(self, batch, scale):
            seen = self.table(batch["ids"]).sum(1)
            logits = seen * scale + batch["age"].unsqueeze(1)
            return {"logits": logits, "likely": logits.sum(1) > 0, "mean": logits.mean()}

    def keep(program, path):
        # Stack traces name the files of whoever exports.
        for node in program.graph.nodes:
            node.meta.pop("stack_trace", None)
        save(program, path)

    x = torch.zeros(4, 16)
    rows = Dim("rows", min=1, max=1 << 20)
    keep(export(Tabular(), (x,), dynamic_shapes={"x": {0: rows}}), "tabular.pt2")
    keep(export(Tabular(), (x,)), "tabular_of_4.pt2")
    batch = {"ids": torch.zeros(4, 3, dtype=torch.int64), "age": torch.zeros(4)}
    shapes = {"batch": {"ids": {0: rows, 1: Dim("length", min=1, max=64)}, "age": {0: rows}}, "scale": None}
    keep(export(Several(), (batch, torch.ones(4)), dynamic_shapes=shapes), "several.pt2")


def table(rows, path):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(20261123)
    schema = pa.schema([("id", pa.int64())] + [(f"f{i}", pa.float32()) for i in range(16)])
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for start in range(0, rows, 1 << 17):
            n = min(1 << 17, rows - start)
            columns = [pa.array(np.arange(start, start + n))]
            columns += [pa.array(rng.standard_normal(n, dtype=np.float32)) for _ in range(16)]
            writer.write_table(pa.table(columns, schema=schema))


def fixtures():
    import json

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch

    table(256, "rows.parquet")
    rng = np.random.default_rng(11)
    ids, age = rng.integers(0, 10, (100, 3)), rng.integers(-99, 99, 100).astype(np.float32) / 8
    lists = pa.array(ids.tolist(), pa.list_(pa.int32()))
    names = [f"n{i}" for i in range(100)]
    pq.write_table(pa.table({"ids": lists, "age": pa.array(age), "name": names}), "several.parquet")
    pq.write_table(pa.table({"ids": lists, "age": pa.array(age)}), "zstd.parquet", compression="zstd")
    rows = pq.read_table("rows.parquet")
    x = np.stack([rows[f"f{i}"].to_numpy() for i in range(16)], 1)
    with torch.no_grad():
        scores = torch.export.load("tabular.pt2").module()(torch.tensor(x))
        batch = {"ids": torch.tensor(ids), "age": torch.tensor(age)}
        found = torch.export.load("several.pt2").module()(batch, torch.tensor([1.0, 2, 3, 4]))
    expected = {
        "tabular": scores[:, 0].tolist(),
        "logits": found["logits"].tolist(),
        "likely": found["likely"].tolist(),
    }
    with open("expected.json", "w") as file:
        json.dump(expected, file)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["programs"]:
            programs()
        case ["fixtures"]:
            fixtures()
        case ["table", n, path]:
            table(int(n), path)
        case _:
            sys.exit(__doc__)
