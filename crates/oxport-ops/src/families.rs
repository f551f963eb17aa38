//! The list of families. Each is a file with a table `OPS`.

use oxport_ir::OpDef;

macro_rules! families {
    ($($(#[$doc:meta])* $family:ident),* $(,)?) => {
        $($(#[$doc])* pub mod $family;)*
        /// The tables of all families.
        pub static TABLES: &[&[OpDef]] = &[$($family::OPS),*];
    };
}

families! {}
