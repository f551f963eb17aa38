# Indentation of texts.


def _lines(text):
    return text.split("\n")


def dedent(text):
    lines = [line if line.strip() else "" for line in _lines(text)]
    used = [line for line in lines if line]
    margin = used[0][: len(used[0]) - len(used[0].lstrip())] if used else ""
    for line in used:
        while not line.startswith(margin):
            margin = margin[:-1]
    return "\n".join(line[len(margin) :] for line in lines)


def indent(text, prefix, predicate=None):
    chosen = predicate or (lambda line: line.strip())
    return "\n".join(prefix + line if chosen(line) else line for line in _lines(text))
