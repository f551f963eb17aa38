"""Scores Parquet files with Ray Data: actors that hold a program, and read its weights from one mapped file.

    python score.py PROGRAM TABLES OUT [--workers 2] [--columns f0,f1,…] [--batch 8192]

Ray reads blocks, hands each to an actor, and makes an actor again when its process dies: the block that it had is
scored once more. Needs `ray`, `pyarrow`, `numpy` and `oxport`.
"""

import argparse
import json
import os
import time

import numpy as np
import pyarrow as pa
import ray


class Scorer:
    """One actor. The weights are mapped from the file, so that the actors of a machine share their pages."""

    def __init__(self, path, columns, keep):
        import oxport

        self.program = oxport.load(path, threads=1)
        self.columns, self.keep = columns, keep

    def __call__(self, batch: pa.Table) -> pa.Table:
        # One column beside the other, as `oxport score --bind x=f0,f1,…` lays them.
        x = np.stack([batch[name].to_numpy() for name in self.columns], axis=1)
        score = np.asarray(self.program(x))
        return pa.table({name: batch[name] for name in self.keep} | {"score": score[:, 0]})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("tables")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--columns", default=",".join(f"f{i}" for i in range(16)))
    parser.add_argument("--keep", default="id")
    parser.add_argument("--batch", type=int, default=8192)
    options = parser.parse_args()

    # One processor a worker: the driver, and reading and writing, share them.
    ray.init(num_cpus=options.workers + 1, include_dashboard=False, log_to_driver=False)
    start = time.perf_counter()
    columns, keep = options.columns.split(","), options.keep.split(",")
    rows = ray.data.read_parquet(options.tables, columns=[*keep, *columns])
    scored = rows.map_batches(
        Scorer,
        fn_constructor_args=(os.path.abspath(options.program), columns, keep),
        batch_size=options.batch,
        batch_format="pyarrow",
        num_cpus=1,
        concurrency=options.workers,
        max_restarts=3,
        max_task_retries=3,
    )
    scored.write_parquet(options.out)
    seconds = time.perf_counter() - start
    count = ray.data.read_parquet(options.out).count()
    print(json.dumps({"rows": count, "seconds": round(seconds, 2), "rows_per_s": round(count / seconds)}))


if __name__ == "__main__":
    main()
