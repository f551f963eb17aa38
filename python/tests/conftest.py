"""Where the repository's programs are."""

from __future__ import annotations

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "fixtures" / "programs"


@pytest.fixture
def programs() -> pathlib.Path:
    return PROGRAMS
