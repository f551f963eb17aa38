//! Link options of the shared library on systems with ELF files.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let family = std::env::var("CARGO_CFG_TARGET_FAMILY").unwrap_or_default();
    let vendor = std::env::var("CARGO_CFG_TARGET_VENDOR").unwrap_or_default();
    if family.split(',').any(|name| name == "unix") && vendor != "apple" {
        // Threads of a plan may still be ending when `dlclose` returns: their code must stay mapped.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // Programs record this name, not the path that they were linked by.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liboxport_c.so");
    }
}
