# The verbs of the house. `just ci` is what CI runs.

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

# The conformance runner: `just conform programs fixtures/programs`
conform *ARGS:
    cargo run --release -p oxport-testkit --bin conform -- {{ARGS}}

# Time a program: `just bench fixtures/programs/vit_small/program.pt2`
bench PROGRAM *ARGS:
    cargo run --release -- bench {{PROGRAM}} {{ARGS}}

# Fuzz every parser for so many seconds each, without nightly
fuzz SECONDS="60":
    OXPORT_FUZZ_SECONDS={{SECONDS}} cargo test --release -p oxport-pt2 --test fuzzing -- --nocapture

# The unsafe room's own tests under Miri (nightly, with the components miri and rust-src); see docs/security.md
miri *FILTERS="storage:: arena:: tensor:: tensor_mut:: parallel:: memory:: index::":
    CARGO_TARGET_DIR=target/miri MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows" \
        cargo +nightly miri test -p oxport-tensor --lib -- {{FILTERS}} --skip what_is_forgotten --skip buffers_of_a_pool --skip fresh_memory_is_zero

# Build the documentation
docs:
    cargo doc --workspace --no-deps --open

# Export the fixtures anew with real PyTorch 2.15 (by hand; see fixtures/README.md)
fixtures PYTHON="python3":
    {{PYTHON}} fixtures/export.py --out fixtures/programs
