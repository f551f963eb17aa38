"""What the tests of graphs have in common: programs of the fixtures, and their nodes by name."""

from __future__ import annotations

import oxport
from oxport import fx

from conftest import PROGRAMS


def read(name: str) -> oxport.Program:
    return oxport.load(PROGRAMS / name / "program.pt2")


def node(graph: fx.Graph, name: str) -> fx.Node:
    return next(n for n in graph.nodes if n.name == name)


def names(nodes: object) -> list[str]:
    return [n.name for n in nodes]


def run(program: oxport.Program, name: str) -> list:
    values = oxport.read_values(PROGRAMS / name / "io.safetensors")
    inputs = sorted((int(k[3:]), v) for k, v in values.items() if k.startswith("in."))
    return program.call_flat([v for _, v in inputs])
