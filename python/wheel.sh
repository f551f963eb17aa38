#!/usr/bin/env bash
# Builds the wheel with maturin, and tries it in a fresh virtual environment with NumPy only: python/wheel.sh
set -euo pipefail
cd "$(dirname "$0")/.."
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}" && realpath "${CARGO_TARGET_DIR:-target}")"
python="${PYTHON:-python3}"
rm -rf "$target/wheels" "$target/fresh"
"$python" -m venv "$target/maturin"
"$target/maturin/bin/python" -m pip install --quiet --disable-pip-version-check 'maturin>=1.10,<2'
CARGO_TARGET_DIR="$target" "$target/maturin/bin/maturin" build --release --locked -m python/Cargo.toml --out "$target/wheels"
"$python" -m venv "$target/fresh"
"$target/fresh/bin/python" -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt "$target"/wheels/*.whl
"$target/fresh/bin/python" -m pytest -q -p no:cacheprovider -rs python/tests --ignore python/tests/with_torch
ls -l "$target"/wheels
