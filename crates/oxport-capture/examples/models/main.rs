//! Models written in Rust, with the state dicts of the same models in PyTorch: `cargo run --example models -- FOLDER`.
//!
//! For each model `NAME`, reads `NAME.safetensors` in the folder (its state dict) if it is there, and writes
//! `NAME.pt2`.

mod zoo;

use oxport_capture::{ModuleState, manual_seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    for (name, make) in zoo::MODELS {
        manual_seed(0);
        let model = make();
        let weights = std::path::Path::new(&folder).join(format!("{name}.safetensors"));
        if weights.exists() {
            let values = oxport::io::read_values(&weights, &Default::default())?;
            let tensors = values.into_iter().filter_map(|(k, v)| Some((k, v.as_tensor()?.clone()))).collect();
            model.module().load_state_dict(&tensors)?;
        }
        model.module().eval();
        let program = model.export()?;
        let found = oxport::verify(&program);
        oxport::write(&program, std::path::Path::new(&folder).join(format!("{name}.pt2")))?;
        println!("{name}: {} nodes, {} diagnostics", program.graph.len(), found.len());
        found.iter().for_each(|d| println!("  {d}"));
    }
    Ok(())
}
