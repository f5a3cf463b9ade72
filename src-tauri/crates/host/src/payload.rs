//! Values as the window reads them: tables, trees, media and files, from the text that arrived.
//!
//! Pure functions over [`usher_protocol::RawJson`]. Numbers stay the text that they are, so that every digit is shown, sorted and
//! exported exactly; a large value is scanned once for its index and never built as a tree. Everything here is hostile: nesting of any
//! depth is walked without recursion, and what is shown of one value is bounded.
//!
//! Deliberately absent: who may see a value (the engine decided that before), where it is kept, and how it is drawn.

pub use media::{Media, MediaError, MediaKind, decode_base64, identify, numbered, safe_name};
pub use table::{Cell, Column, Shape, Sort, TableIndex, TableRows, classify};
pub use tree::{JsonChild, JsonChildren, TreeError, json_children};
pub use usher_protocol::scan::JsonKind;

mod export;
mod media;
mod number;
mod table;
#[cfg(test)]
mod tests;
mod titles;
mod tree;
