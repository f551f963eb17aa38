#!/usr/bin/env bash
# Tests the Python package as it stands in the checkout, with the library that `cargo test --release --workspace` built:
#     python/test.sh [ARGUMENT OF PYTEST]…
# Needs Python 3.10 or newer, and pip for NumPy and pytest, which go into a virtual environment below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
python="${PYTHON:-python3}"
if ! command -v "$python" > /dev/null; then
    echo "error: expected Python 3.10 or newer as \`$python\`, got nothing: install it, or name it with PYTHON=" >&2
    exit 1
fi
# Tests link the library below deps/, and cargo copies it no further.
library="$(ls -t "$target"/release/deps/lib_oxport.{so,dylib} 2> /dev/null | head -n 1 || true)"
if [ -z "$library" ]; then
    echo "error: expected lib_oxport.so in $target/release/deps: run \`cargo test --release --workspace\` first" >&2
    exit 1
fi
if [ ! -x "$target/python/bin/python" ]; then
    "$python" -m venv "$target/python"
    "$target/python/bin/python" -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt
fi
rm -rf "$target/package"
mkdir -p "$target/package"
cp -r python/oxport "$target/package/oxport"
cp "$library" "$target/package/oxport/_oxport.abi3.so"
PYTHONPATH="$(realpath "$target/package")" PYTHONDONTWRITEBYTECODE=1 \
    "$target/python/bin/python" -m pytest -q -p no:cacheprovider -rs python/tests --ignore python/tests/with_torch "$@"
