# Commands for development. `just ci` is what CI runs.

# What must hold before a change lands
ci:
    bash .ci/run

# Fast feedback while writing
check:
    cargo clippy --workspace --all-targets -- -D warnings

# All tests
test *ARGS:
    cargo test --release --workspace {{ARGS}}

# Rewrite the expectations of file tests and expect-tests
bless:
    UPDATE_EXPECT=1 cargo test --release --workspace

# Format everything
fmt:
    cargo fmt --all
    # The families are modules named by a macro, which cargo fmt does not follow.
    find crates/oxport-ops/src -name '*.rs' -print0 | xargs -0 rustfmt --edition 2024

# The conformance runner: `just conform programs fixtures/programs`
conform *ARGS:
    cargo run --release -p oxport-testkit --bin conform -- {{ARGS}}

# Time a program: `just bench fixtures/programs/vit_small/program.pt2`
bench PROGRAM *ARGS:
    cargo run --release -- bench {{PROGRAM}} {{ARGS}}

# Build the Python wheel, and try it in a fresh virtual environment
wheel:
    bash python/wheel.sh

# Test the Python package with the library that `just test` has built
test-python *ARGS:
    bash python/test.sh {{ARGS}}

# Test the page of `oxport view` in Chromium (`/usr/bin/chromium`), and that its checked-in bundle is that of its sources
viewer-test:
    cargo build --release
    cd viewer && npm ci && npm run build -- --check && npm test

# Write the header of the C interface anew
header:
    UPDATE_EXPECT=1 cargo test --release -p oxport-c --test all header::

# Fuzz every parser for so many seconds each, without nightly
fuzz SECONDS="60":
    OXPORT_FUZZ_SECONDS={{SECONDS}} cargo test --release -p oxport-pt2 --test fuzzing -- --nocapture

# The unit tests of `oxport-tensor`, which has all unsafe code, under Miri, or some of them (nightly, with the components miri and rust-src); see docs/security.md
miri *FILTERS:
    CARGO_TARGET_DIR=target/miri MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows -Zmiri-deterministic-floats" \
        cargo +nightly miri test -p oxport-tensor --lib -- --test-threads=1 {{FILTERS}}

# As `miri`, with the kernels of AVX2
miri-avx2 *FILTERS:
    OXPORT_ISA=avx2 RUSTFLAGS="-Ctarget-feature=+avx2,+fma,+bmi1,+bmi2,+lzcnt,+popcnt" just miri {{FILTERS}}

# The protocol of the threads that share a call, in the orders that loom tries; see docs/security.md
loom *FILTERS="team::model":
    CARGO_TARGET_DIR=target/loom RUSTFLAGS="--cfg loom" \
        cargo test --config 'profile.dev.package.oxport-tensor.opt-level=0' -p oxport-tensor --lib -- {{FILTERS}}

# Build the documentation
docs:
    cargo doc --workspace --no-deps --open

# Export the fixtures anew with real PyTorch 2.15 (by hand; see fixtures/README.md)
fixtures PYTHON="python3":
    {{PYTHON}} fixtures/export.py --out fixtures/programs
