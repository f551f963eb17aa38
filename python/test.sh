#!/usr/bin/env bash
# Tests the Python package as it stands in the checkout, with the library that `cargo test --release --workspace` built:
#     python/test.sh [ARGUMENT OF PYTEST]…
# Needs Python 3.10 or newer. First with Python alone; then all tests, with NumPy and pytest in a virtual environment below
# target/. Where pip cannot install these two (no network), that is said, and the first must do.
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
rm -rf "$target/package"
mkdir -p "$target/package"
cp -r python/oxport "$target/package/oxport"
cp "$library" "$target/package/oxport/_oxport.abi3.so"
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
PYTHONPATH="$(realpath "$target/package")"
"$python" python/tests/plain.py
if [ ! -e "$target/python/ready" ]; then
    rm -rf "$target/python"
    "$python" -m venv "$target/python"
    if ! "$target/python/bin/python" -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt; then
        echo "WARNING: pip cannot install NumPy and pytest: of the tests of the Python package only python/tests/plain.py was run" >&2
        exit 0
    fi
    touch "$target/python/ready"
fi
"$target/python/bin/python" -m pytest -q -p no:cacheprovider -rs python/tests --ignore python/tests/with_torch "$@"
