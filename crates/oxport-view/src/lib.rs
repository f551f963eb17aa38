//! A page that shows a program as a graph, and the same graph for Graphviz.
//!
//! ```text
//! ExportedProgram ─Page::with→ Page ─html→ one self-contained document ─Server→ 127.0.0.1
//!                 └─dot→ Graphviz
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`page`] | [`Page`]: what the document is told of programs, as JSON |
//! | [`clusters`] | the modules around nodes, as a tree |
//! | [`text`] | values, ranges and arguments as the page and the picture write them |
//! | [`html`](mod@html) | the document: template, script, styles and data |
//! | [`serve`] | [`Server`]: the document over HTTP, to this machine alone |
//! | [`dot`](mod@dot) | the Graphviz printer |
//!
//! Invariants: no text of a program becomes markup or code: it is data of the document, which the script shows as text;
//! the document loads nothing; the same programs give the same document. The script and its styles are built of the
//! folder `viewer` and checked in; building this crate needs no JavaScript tools.

pub mod clusters;
pub mod dot;
pub mod html;
pub mod page;
pub mod serve;
pub mod text;

pub use dot::dot;
pub use html::html;
pub use page::{Change, ChangeKind, Page, Source};
pub use serve::{Error, Server};
