//! A module with buffers that calls change: a cache of keys and values.

use oxport::io::{inputs_from, read_values};
use oxport::{Module, Opt};
use std::path::Path;
use std::sync::Arc;

pub fn main() -> oxport::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/kv_cache");
    let program = oxport::read(folder.join("program.pt2"))?;
    let plan = Arc::new(oxport::plan(&oxport::prepare(&program, Opt::Exact)?, &Default::default())?);
    let inputs = inputs_from(&program, &read_values(&folder.join("io.safetensors"), &Default::default())?)?;

    // A plan is shared; each module has buffers of its own.
    let (mut one, other) = (Module::new(plan.clone()), Module::new(plan));
    one.call_flat(inputs)?;
    for ((name, now), (_, before)) in one.buffers().zip(other.buffers()) {
        println!("{name}: {}", if now == before { "as before" } else { "changed" });
    }
    assert!(one.buffers().zip(other.buffers()).any(|((_, now), (_, before))| now != before));
    one.reset();
    assert!(one.buffers().zip(other.buffers()).all(|((_, now), (_, before))| now == before));
    Ok(())
}
