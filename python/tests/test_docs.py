"""The snippets of the chapters on Python, run as they stand."""

from __future__ import annotations

import pathlib
import re
import shutil

import pytest
from conftest import ROOT

SNIPPET = re.compile(r"<!-- python:(.*?)-->\n```python\n(.*?)```", re.S)
PAGES = ["python.md", "python-graphs.md"]


def snippets() -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        text = (ROOT / "docs" / page).read_text()
        found += [(f"{page}-{i}", files, code) for i, (files, code) in enumerate(SNIPPET.findall(text))]
        unmarked = text.count("```python\n") - text.count("<!-- python:") - len(re.findall(r"<!-- not run: [^>]*-->\n```python", text))
        assert unmarked == 0, f"{page}: {unmarked} snippets say neither what they need nor why they are not run"
    return found


@pytest.mark.parametrize(("name", "files", "code"), snippets())
def test_snippets_run(name: str, files: str, code: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pair in files.split():
        target, source = pair.split("=")
        shutil.copy(ROOT / source, tmp_path / target)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {"__name__": name})  # noqa: S102
