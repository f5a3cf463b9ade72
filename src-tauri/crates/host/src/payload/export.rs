//! Tables as files: CSV for spreadsheets, JSON with the records as they came.

use usher_protocol::scan::{JsonKind, unquote};

use super::table::{Sort, TableIndex};

impl TableIndex {
    /// The matching rows as CSV (RFC 4180: comma, CRLF, quotes doubled; UTF-8 without a mark), the keys as its first line.
    ///
    /// A text that a spreadsheet would run as a formula gets a leading `'`; numbers keep their digits. Objects and arrays are their JSON,
    /// null and absent are empty.
    pub fn to_csv(&self, sort: Option<&Sort>, filter: &str) -> String {
        let mut out = String::new();
        line(&mut out, self.columns().iter().map(|column| guarded(&column.key)));
        for &row in self.order(sort, filter).iter() {
            let columns = u32::try_from(self.columns().len()).unwrap_or(u32::MAX);
            line(
                &mut out,
                (0..columns).map(|column| self.cell_text(row, column).map_or_else(String::new, field)),
            );
        }
        out
    }

    /// The matching rows as a JSON array of the very texts of the records.
    pub fn to_json(&self, sort: Option<&Sort>, filter: &str) -> String {
        let mut out = String::from("[");
        for (place, &row) in self.order(sort, filter).iter().enumerate() {
            out.push_str(if place == 0 { "\n" } else { ",\n" });
            out.push_str(self.row_text(row));
        }
        out.push_str("\n]\n");
        out
    }
}

fn field(json: &str) -> String {
    match JsonKind::of(json) {
        JsonKind::Null => String::new(),
        JsonKind::String => guarded(&unquote(json)),
        JsonKind::Number | JsonKind::Boolean | JsonKind::Object | JsonKind::Array => json.to_owned(),
    }
}

fn guarded(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (place, field) in fields.enumerate() {
        if place > 0 {
            out.push(',');
        }
        if field.contains(['"', ',', '\r', '\n']) || field.starts_with(' ') || field.ends_with(' ') {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}
