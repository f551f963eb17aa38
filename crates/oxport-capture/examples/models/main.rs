//! Models written in Rust, with the state dicts of the same models in PyTorch: `cargo run --example models -- FOLDER`.
//!
//! For each model `NAME`, reads its state dict, `NAME.safetensors` or `NAME.pth`, in the folder if it is there, and
//! writes `NAME.pt2`.

mod zoo;

use oxport_capture::{ModuleState, manual_seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    for (name, make) in zoo::MODELS {
        manual_seed(0);
        let model = make();
        let folder = std::path::Path::new(&folder);
        let given = ["safetensors", "pth"].map(|kind| folder.join(format!("{name}.{kind}")));
        if let Some(weights) = given.iter().find(|path| path.exists()) {
            model.module().load_state_dict(&oxport::weights::read_state_dict(weights, &Default::default())?)?;
        }
        model.module().eval();
        let program = model.export()?;
        let found = oxport::verify(&program);
        oxport::write(&program, folder.join(format!("{name}.pt2")))?;
        println!("{name}: {} nodes, {} diagnostics", program.graph.len(), found.len());
        found.iter().for_each(|d| println!("  {d}"));
    }
    Ok(())
}
