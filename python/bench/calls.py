"""What a call costs in Python, beside ONNX Runtime in the same run.

    python python/bench/calls.py PROGRAM_FOLDER       (fixtures/programs/mlp; needs numpy, onnx, onnxruntime)

Prints, in microseconds: a call of `mlp` in both packages; the same call by the command `oxport bench`, if `oxport` is on
the path, so that the difference is what Python adds; then calls per second of 1, 2 and 4 threads, and the time of imports.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import onnxruntime
import oxport
from onnx import TensorProto, helper, numpy_helper


def model(state: dict[str, np.ndarray]) -> bytes:
    """The same network: linear, GELU, layer norm, linear, SiLU, linear, softmax."""
    node = helper.make_node
    nodes = [
        node("Gemm", ["x", "0.weight", "0.bias"], ["a"], transB=1),
        node("Gelu", ["a"], ["b"]),
        node("LayerNormalization", ["b", "2.weight", "2.bias"], ["c"], epsilon=1e-5),
        node("Gemm", ["c", "4.weight", "4.bias"], ["d"], transB=1),
        node("Sigmoid", ["d"], ["e"]),
        node("Mul", ["d", "e"], ["f"]),
        node("Gemm", ["f", "6.weight", "6.bias"], ["g"], transB=1),
        node("Softmax", ["g"], ["y"], axis=-1),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])
    weights = [numpy_helper.from_array(np.asarray(t), name) for name, t in state.items()]
    graph = helper.make_graph(nodes, "mlp", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


def microseconds(call, calls: int = 2000) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


def per_second(call, threads: int, seconds: float = 1.0) -> float:
    counts = [0] * threads
    end = time.perf_counter() + seconds

    def work(i: int) -> None:
        while time.perf_counter() < end:
            call()
            counts[i] += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return sum(counts) / seconds


def main(folder: pathlib.Path) -> None:
    program = oxport.load(folder / "program.pt2", threads=1)
    x = oxport.read_values(folder / "io.safetensors")["in.0"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    state = {name: t.numpy() for name, t in program.state_dict().items()}
    session = onnxruntime.InferenceSession(model(state), options, providers=["CPUExecutionProvider"])
    ours, theirs = (lambda: program(x)), (lambda: session.run(None, {"x": x}))
    np.testing.assert_allclose(ours(), theirs()[0], rtol=1e-4, atol=1e-6)
    rounds = [(microseconds(ours), microseconds(theirs)) for _ in range(9)]
    for name, i in [("oxport", 0), ("onnxruntime", 1)]:
        times = [r[i] for r in rounds]
        print(f"{name:12} call {statistics.median(times):7.1f} µs (least {min(times):.1f})")
    if command := shutil.which("oxport"):
        args = [command, "bench", str(folder / "program.pt2"), "--threads", "1", "--runs", "5000", "--json"]
        found = json.loads(subprocess.run(args, capture_output=True, check=True, text=True).stdout)
        print(f"{'in Rust':12} call {found['median_ms'] * 1e3:7.1f} µs (least {found['min_ms'] * 1e3:.1f})")
    for threads in (1, 2, 4):
        print(f"{threads} threads    {per_second(ours, threads):9.0f} calls/s, onnxruntime {per_second(theirs, threads):9.0f}")
    for package in ("oxport", "onnxruntime"):
        code = f"import time; t = time.perf_counter(); import {package}; print(time.perf_counter() - t)"
        runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True) for _ in range(5)]
        print(f"import {package:12} {statistics.median(float(r.stdout) for r in runs) * 1e3:7.1f} ms")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
