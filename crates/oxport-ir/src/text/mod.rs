//! FX text: what people read, and what is read back.
//!
//! PyTorch prints a program in two forms. The *readable* form is `print(exported_program)`: Python code with quoted
//! annotations, the signature, the ranges. The *graph* form is `str(exported_program.graph)`: one line a node. Both are
//! of the program as `torch.export.load` reads it from its file.
//!
//! | text | printed by | keeps |
//! |---|---|---|
//! | PyTorch's, readable | [`print::readable`] | graphs, dtypes, sizes, symbolic numbers, signature, ranges |
//! | PyTorch's, graph | [`print::fx`] | the nodes of the top graph; of their arguments, what the schema tells apart |
//! | whole | [`print::whole`] | all but bytes: data of tensors, example inputs, extra files, opaque objects |
//!
//! What PyTorch's readable text loses: strides, devices and `requires_grad` of tensors, values of constant inputs,
//! classes of objects, metas of calls with several results, stack traces but for a line of the last frame, module
//! stacks, call signatures, guards, hints; and the names of nodes that PyTorch renames on loading or printing (`input`
//! is `input_1` within the code; a call that gives nothing is `…_unused`). The whole text is PyTorch's readable text
//! with lines in between that begin with `#:` and say the rest; for Python, and for who reads PyTorch's text, they are
//! comments.
//!
//! Laws, each held over all fixtures: the first two texts are PyTorch's, byte for byte; they parse, and print again as
//! they were; the whole text without its `#:` lines is PyTorch's; parse ∘ whole = id on all that the whole text keeps.
//!
//! | module | holds |
//! |---|---|
//! | [`print`](mod@print) | both forms, printed |
//! | `values` | arguments, as Python source and as `str` has them |
//! | `names`, `loaded` | FX's names; what loading changes |
//! | `sections` | signature and ranges, printed and parsed |
//! | `vals`, `whole` | metas as text; the `#:` lines, printed and parsed |
//! | [`parse`] | both forms, read back, and the spellings of older PyTorch |
//! | `lex`, `line`, `lines` | tokens; statements of the readable form; nodes of the graph form |
//! | `metas` | metas that a text does not say |

mod lex;
mod line;
mod lines;
mod loaded;
mod metas;
mod names;
pub mod parse;
pub mod print;
mod sections;
mod vals;
mod values;
mod whole;

pub use names::{Namespace, fx_name};
pub use vals::split_top;
