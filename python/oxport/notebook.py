"""What a notebook shows of a program."""

from __future__ import annotations

import html


def program(p: object) -> str:
    """A table of HTML: inputs, outputs, sizes, parameters, operators. Texts of the program are escaped."""
    info = p.info()
    esc = html.escape

    def ports(which: list) -> str:
        return "<br>".join(f"<code>{esc(str(port))}</code>" for port in which)

    def count(name: str) -> str:
        found = info[name]
        return f"{found['count']} ({found['elements']:,} elements, {found['bytes']:,} bytes)"

    operators = list(info["operators"].items())
    shown = ", ".join(f"<code>{esc(name)}</code>&nbsp;×&nbsp;{n}" for name, n in operators[:20])
    more = f", and {len(operators) - 20} more" if len(operators) > 20 else ""
    symbols = "<br>".join(
        f"<code>{esc(s['name'])}</code> from {s['min']} to {'∞' if s['max'] is None else s['max']}"
        for s in info["symbols"]
    )
    rows = [
        ("Inputs", ports(p.inputs)),
        ("Outputs", ports(p.outputs)),
        ("Sizes", symbols),
        ("Parameters", count("parameters")),
        ("Buffers", count("buffers") if info["buffers"]["count"] else ""),
        ("Nodes", str(info["nodes"])),
        ("Operators", shown + more),
        ("Runs", "yes" if info["can_run"] else f"no: {esc(str(info['reason']))}"),
    ]
    cells = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{name}</th>'
        f'<td style="text-align:left">{text}</td></tr>'
        for name, text in rows
        if text
    )
    return f"<table><caption>oxport.Program</caption>{cells}</table>"
