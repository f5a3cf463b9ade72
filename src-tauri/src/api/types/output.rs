//! Outputs as they are shown, and the windows into large ones.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Something of a result that the user is shown.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ShownOutput {
    Blocks {
        handle: String,
        blocks: Vec<BlockView>,
    },
    /// A list of records.
    Table {
        handle: String,
        columns: Vec<ColumnView>,
        #[ts(type = "number")]
        rows: u64,
        #[ts(type = "number")]
        bytes: u64,
    },
    /// An object, shown as a property view.
    Properties {
        handle: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    /// Any other value, shown in the inspector.
    Json {
        handle: String,
        #[ts(type = "number")]
        bytes: u64,
    },
}

/// A column of a table.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ColumnView {
    pub key: String,
    /// A title from the schema, or the key.
    pub title: String,
    /// Whether most values are numbers, so that they are set to the right.
    pub numeric: bool,
}

/// Pictures that stand for themselves, as blocks.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct PicturesView {
    pub handle: String,
    pub blocks: Vec<BlockView>,
}

/// A content block that the user is shown.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum BlockView {
    Text {
        text: String,
    },
    /// `url` serves the bytes.
    Image {
        url: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    Audio {
        url: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    Video {
        url: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    File {
        handle: String,
        index: u32,
        name: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    /// Read only when the user asks.
    Link {
        uri: String,
        name: String,
        description: Option<String>,
        mime: Option<String>,
        #[ts(type = "number | null")]
        size: Option<u64>,
    },
    /// A resource's text.
    ResourceText {
        uri: String,
        mime: Option<String>,
        text: String,
    },
    /// A block whose type is unknown, as it came.
    Unknown {
        json: String,
    },
}

/// A window into a table.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct TableWindow {
    /// Rows after filtering.
    #[ts(type = "number")]
    pub matching: u64,
    #[ts(type = "number")]
    pub total: u64,
    #[ts(type = "number")]
    pub offset: u64,
    /// One list of cells a row, in the order of the columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A table's cell: the exact text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum Cell {
    /// The record has no such key.
    Absent,
    Null,
    Text {
        text: String,
    },
    Number {
        text: String,
    },
    Bool {
        value: bool,
    },
    /// An object or array, abridged; `pointer` opens it in the inspector.
    Nested {
        text: String,
        pointer: String,
    },
}

/// How a table is sorted.
#[derive(Debug, Clone, Deserialize, TS)]
#[ts(export)]
pub struct SortBy {
    pub column: String,
    pub descending: bool,
}

/// The children of a JSON value, for the inspector.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct JsonChildren {
    pub pointer: String,
    /// `object`, `array` or the scalar's type.
    pub kind: String,
    #[ts(type = "number")]
    pub count: u64,
    #[ts(type = "number")]
    pub offset: u64,
    pub children: Vec<JsonChild>,
}

/// A child of a JSON value.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct JsonChild {
    pub key: String,
    pub pointer: String,
    /// `object`, `array`, `string`, `number`, `boolean`, `null`.
    pub kind: String,
    /// The exact text of a scalar (a string without quotes, cut when very long), or an abridgement.
    pub text: String,
    /// How many children it has itself.
    #[ts(type = "number")]
    pub count: u64,
}

/// A slice of a payload's text.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct PayloadText {
    #[ts(type = "number")]
    pub total_bytes: u64,
    pub text: String,
    /// Whether `text` is all of it.
    pub whole: bool,
    /// What this is and where it went, in one sentence.
    pub label: String,
}

/// A file that was written for the user.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SavedFile {
    pub path: String,
    #[ts(type = "number")]
    pub bytes: u64,
}
