//! A list of records as a table: an index of where each cell stands in the text, made once.

use std::{
    cmp::Ordering,
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use usher_protocol::{
    RawJson,
    scan::{Child, JsonKind, abridge, children, unquote, unquote_start},
};

use super::{
    number::{Decimal, natural},
    titles::column_titles,
    tree::escape,
};

/// A list of more records than this is left to the inspector.
const MOST_ROWS: usize = 4_000_000;
/// More columns than this are left to the inspector.
const MAX_COLUMNS: usize = 500;
/// So many of the further keys are told apart to be counted.
const MOST_LEFT_OUT: usize = 10_000;
/// So many spellings of keys are remembered; further ones are read each time.
const MOST_SPELLINGS: usize = 4 * MAX_COLUMNS;
/// A text longer than this (in characters) is shown abridged and opened in the inspector.
const LONG_TEXT: usize = 2_000;
/// How much of an object or array a cell shows, in characters.
const NESTED_TEXT: usize = 120;
/// How many rows one window holds at most.
const MAX_WINDOW: usize = 1_000;
/// An object with more scalars than this beside its list is a record, not an envelope.
const MAX_BESIDE: usize = 4;
/// How many orders are remembered.
const ORDERS: usize = 4;

/// How a value is best shown.
#[derive(Debug)]
pub enum Shape {
    /// A list of records.
    Table(Box<TableIndex>),
    /// An object.
    Properties,
    /// Anything else.
    Json,
}

/// Decides how a value is shown, and indexes it if it is a table.
///
/// A table is a list of at most four million elements of which more than half are objects; or an object that looks like an envelope of such a list, since results of
/// earlier revisions had to be objects: the list is at least a third of the text and beside it stand at most four scalars (see
/// [`TableIndex::beside`]).
/// `schema` is that of the variant itself and gives the titles.
pub fn classify(json: &RawJson, schema: Option<&RawJson>) -> Shape {
    let text = json.get();
    if u32::try_from(text.len()).is_err() {
        return Shape::Json;
    }
    let whole = 0..text.len();
    match JsonKind::of(text) {
        JsonKind::Array if is_records(text, &whole) => {
            Shape::Table(Box::new(TableIndex::build(json, schema, None, &whole)))
        }
        JsonKind::Object => match list_member(text) {
            Some(member) => {
                let key = text.get(member.key.clone()).map(|key| unquote(key).into_owned());
                Shape::Table(Box::new(TableIndex::build(json, schema, key, &member.value)))
            }
            None => Shape::Properties,
        },
        _ => Shape::Json,
    }
}

fn is_records(text: &str, list: &Range<usize>) -> bool {
    let (mut objects, mut all) = (0_usize, 0_usize);
    for child in children(text, list.start) {
        all += 1;
        if all > MOST_ROWS {
            return false;
        }
        if JsonKind::of(slice(text, &child.value)) == JsonKind::Object {
            objects += 1;
        }
    }
    objects * 2 > all
}

fn list_member(text: &str) -> Option<Child> {
    let (mut list, mut scalars) = (None, 0);
    for child in children(text, 0) {
        match JsonKind::of(slice(text, &child.value)) {
            JsonKind::Array if list.is_none() => list = Some(child),
            JsonKind::Array | JsonKind::Object => return None,
            _ => scalars += 1,
        }
    }
    list.filter(|list| {
        scalars <= MAX_BESIDE && list.value.len() * 3 >= text.len() && is_records(text, &list.value)
    })
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The key in the records. Empty for the column of elements that are no records.
    pub key: String,
    /// The title from the schema, or the key.
    pub title: String,
    /// Whether most values are numbers.
    pub numeric: bool,
}

/// How a table is sorted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The key of the column.
    pub column: String,
    /// From the largest to the smallest. What is missing stands last in either direction.
    pub descending: bool,
}

/// A cell, exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// The record has no such key.
    Absent,
    /// `null`
    Null,
    /// A string, without quotes.
    Text(String),
    /// The digits as they came.
    Number(String),
    /// A boolean.
    Bool(bool),
    /// An object, an array or a very long string, abridged; the pointer opens it in the inspector.
    Nested {
        /// The start of it.
        text: String,
        /// A JSON pointer from the root of the whole value.
        pointer: String,
    },
}

/// Some rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRows {
    /// Rows after filtering.
    pub matching: usize,
    /// Rows of the table.
    pub total: usize,
    /// The place of the first of these rows among the matching ones.
    pub offset: usize,
    /// One list of cells a row, in the order of the columns.
    pub rows: Vec<Vec<Cell>>,
}

/// Where a cell stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    column: u32,
    start: u32,
    end: u32,
}

/// The order of the rows for a sort and a filter.
#[derive(Debug)]
struct Order {
    sort: Option<Sort>,
    filter: String,
    rows: Arc<[u32]>,
}

/// A table's index: columns, and where each row and cell stands in the text. Its size follows the text's, however odd the records.
#[derive(Debug)]
pub struct TableIndex {
    json: RawJson,
    pointer: String,
    columns: Vec<Column>,
    left_out: usize,
    rows: Vec<Place>,
    /// For each row, where its cells start in `cells`; one more at the end.
    starts: Vec<u32>,
    cells: Vec<Place>,
    beside: Vec<(String, String)>,
    orders: Mutex<VecDeque<Order>>,
}

impl TableIndex {
    fn build(json: &RawJson, schema: Option<&RawJson>, member: Option<String>, list: &Range<usize>) -> Self {
        let text = json.get();
        let mut builder = Builder::default();
        for child in children(text, list.start) {
            builder.row(text, &child.value);
        }
        let titles = schema.map(|schema| column_titles(schema, member.as_deref())).unwrap_or_default();
        let columns = std::mem::take(&mut builder.columns).into_iter().map(|found| Column {
            title: match titles.get(&found.key) {
                Some(title) => title.clone(),
                None if found.whole => "(value)".to_owned(),
                None => found.key.clone(),
            },
            numeric: found.numbers * 2 > found.values,
            key: found.key,
        });
        let columns = columns.collect();
        builder.starts.push(index(builder.cells.len()));
        let beside = match member {
            None => Vec::new(),
            Some(_) => children(text, 0)
                .filter(|child| child.value != *list)
                .map(|child| {
                    (unquote(slice(text, &child.key)).into_owned(), slice(text, &child.value).to_owned())
                })
                .collect(),
        };
        Self {
            json: json.clone(),
            pointer: member.map_or_else(String::new, |member| format!("/{}", escape(&member))),
            columns,
            left_out: builder.left_out.len(),
            rows: builder.rows,
            starts: builder.starts,
            cells: builder.cells,
            beside,
            orders: Mutex::default(),
        }
    }

    /// The columns, in the order in which their keys were first seen.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many further keys are not shown as columns because there are too many, counted up to ten thousand; the inspector and the exports of rows have them.
    pub fn columns_left_out(&self) -> usize {
        self.left_out
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// About how much memory it takes, with the text that it stands on, in bytes.
    pub fn bytes(&self) -> usize {
        let places = self.rows.len() + self.cells.len();
        self.json.bytes() + places * size_of::<Place>() + self.starts.len() * size_of::<u32>()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where the list stands in the value: empty for the value itself, or a JSON pointer to the member that holds it.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The scalars that stand beside the list, as key and JSON text.
    pub fn beside(&self) -> &[(String, String)] {
        &self.beside
    }

    /// Some rows, sorted and filtered. The order is remembered, so that scrolling costs what is shown.
    pub fn window(&self, sort: Option<&Sort>, filter: &str, offset: usize, limit: usize) -> TableRows {
        let order = self.order(sort, filter);
        let rows =
            order.iter().skip(offset).take(limit.min(MAX_WINDOW)).map(|&row| self.cells_of(row)).collect();
        TableRows { matching: order.len(), total: self.len(), offset, rows }
    }

    /// The numbers of the matching rows, in order.
    pub(super) fn order(&self, sort: Option<&Sort>, filter: &str) -> Arc<[u32]> {
        let filter = filter.trim().to_lowercase();
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(order) = orders.iter().find(|order| order.sort.as_ref() == sort && order.filter == filter)
        {
            return Arc::clone(&order.rows);
        }
        let mut rows: Vec<u32> = (0..index(self.rows.len())).collect();
        if !filter.is_empty() {
            rows.retain(|&row| self.places(row).iter().any(|&place| self.shows(place, &filter)));
        }
        if let Some(sort) = sort {
            self.sort(&mut rows, sort);
        }
        let rows: Arc<[u32]> = rows.into();
        orders.push_front(Order { sort: sort.cloned(), filter, rows: Arc::clone(&rows) });
        orders.truncate(ORDERS);
        rows
    }

    fn sort(&self, rows: &mut [u32], sort: &Sort) {
        let Some(column) = self.columns.iter().position(|column| column.key == sort.column) else { return };
        let mut keyed: Vec<(Key, u32)> =
            rows.iter().map(|&row| (self.key(row, index(column)), row)).collect();
        // It is stable, so equal rows keep the order of the list.
        keyed.sort_by(|left, right| left.0.compare(&right.0, sort.descending));
        for (row, (_, sorted)) in rows.iter_mut().zip(keyed) {
            *row = sorted;
        }
    }

    fn key(&self, row: u32, column: u32) -> Key {
        let Some(text) = self.place(row, column).map(|place| self.text(place)) else { return Key::Missing };
        match JsonKind::of(text) {
            JsonKind::Null => Key::Missing,
            JsonKind::Number => Key::Number(Decimal::of(text)),
            JsonKind::String => Key::Text(unquote(text).to_lowercase()),
            JsonKind::Boolean => Key::Bool(text == "true"),
            JsonKind::Object | JsonKind::Array => Key::Nested(abridge(text, NESTED_TEXT)),
        }
    }

    /// Whether what the cell shows contains the filter, which is in lower case.
    fn shows(&self, place: Place, filter: &str) -> bool {
        let text = self.text(place);
        let shown = match JsonKind::of(text) {
            JsonKind::Null => return false,
            JsonKind::String => unquote(text),
            JsonKind::Object | JsonKind::Array => abridge(text, NESTED_TEXT).into(),
            JsonKind::Number | JsonKind::Boolean => text.into(),
        };
        if shown.is_ascii() && filter.is_ascii() {
            return shown
                .as_bytes()
                .windows(filter.len())
                .any(|part| part.eq_ignore_ascii_case(filter.as_bytes()));
        }
        shown.to_lowercase().contains(filter)
    }

    fn cells_of(&self, row: u32) -> Vec<Cell> {
        let mut cells = vec![Cell::Absent; self.columns.len()];
        for &place in self.places(row) {
            if let Some(cell) = usize::try_from(place.column).ok().and_then(|column| cells.get_mut(column)) {
                *cell = self.cell(row, place);
            }
        }
        cells
    }

    fn cell(&self, row: u32, place: Place) -> Cell {
        let text = self.text(place);
        let pointer = || match self.rows.get(usize::try_from(row).unwrap_or(usize::MAX)) {
            // An element that is no record is its own cell.
            Some(whole) if whole.start == place.start => format!("{}/{row}", self.pointer),
            _ => {
                let key = self.columns.get(usize::try_from(place.column).unwrap_or(usize::MAX));
                format!("{}/{row}/{}", self.pointer, escape(key.map_or("", |column| &column.key)))
            }
        };
        match JsonKind::of(text) {
            JsonKind::Null => Cell::Null,
            JsonKind::Number => Cell::Number(text.to_owned()),
            JsonKind::Boolean => Cell::Bool(text == "true"),
            JsonKind::String => {
                let start = unquote_start(text, LONG_TEXT + 1);
                if start.chars().nth(LONG_TEXT).is_some() {
                    Cell::Nested { text: abridge(&start, LONG_TEXT), pointer: pointer() }
                } else {
                    Cell::Text(start.into_owned())
                }
            }
            JsonKind::Object | JsonKind::Array => {
                Cell::Nested { text: abridge(text, NESTED_TEXT), pointer: pointer() }
            }
        }
    }

    /// The JSON text of a row.
    pub(super) fn row_text(&self, row: u32) -> &str {
        self.rows.get(usize::try_from(row).unwrap_or(usize::MAX)).map_or("null", |&place| self.text(place))
    }

    /// The JSON text of a cell, if the record has it.
    pub(super) fn cell_text(&self, row: u32, column: u32) -> Option<&str> {
        self.place(row, column).map(|place| self.text(place))
    }

    fn place(&self, row: u32, column: u32) -> Option<Place> {
        self.places(row).iter().find(|place| place.column == column).copied()
    }

    fn places(&self, row: u32) -> &[Place] {
        let at = |row: usize| self.starts.get(row).and_then(|&start| usize::try_from(start).ok());
        let row = usize::try_from(row).unwrap_or(usize::MAX - 1);
        match (at(row), at(row + 1)) {
            (Some(start), Some(end)) => self.cells.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }

    fn text(&self, place: Place) -> &str {
        let at = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        self.json.get().get(at(place.start)..at(place.end)).unwrap_or("null")
    }
}

/// What a column sorts by.
enum Key {
    Number(Decimal),
    Text(String),
    Bool(bool),
    Nested(String),
    Missing,
}

impl Key {
    fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Self::Missing, _) | (_, Self::Missing) => {
                return matches!(self, Self::Missing).cmp(&matches!(other, Self::Missing));
            }
            (Self::Number(left), Self::Number(right)) => left.cmp(right),
            (Self::Text(left), Self::Text(right)) => natural(left, right),
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Nested(left), Self::Nested(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        };
        if descending { order.reverse() } else { order }
    }

    /// Kinds do not mix: numbers stand before texts, then the rest.
    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Bool(_) => 2,
            Self::Nested(_) => 3,
            Self::Missing => 4,
        }
    }
}

struct Found {
    key: String,
    whole: bool,
    values: usize,
    numbers: usize,
    /// The row in which it was seen last and its cell there, to notice a key that stands twice in a record.
    row: usize,
    cell: usize,
}

#[derive(Default)]
struct Builder<'t> {
    columns: Vec<Found>,
    by_key: HashMap<&'t str, usize>,
    /// The same by what the keys say: one may be spelt with other escapes.
    by_name: HashMap<String, usize>,
    /// The column of elements that are no records, once there is one.
    whole: Option<usize>,
    left_out: std::collections::HashSet<&'t str>,
    rows: Vec<Place>,
    starts: Vec<u32>,
    cells: Vec<Place>,
}

impl<'t> Builder<'t> {
    fn row(&mut self, text: &'t str, row: &Range<usize>) {
        let first = index(self.cells.len());
        self.rows.push(Place { column: 0, start: index(row.start), end: index(row.end) });
        self.starts.push(first);
        if JsonKind::of(slice(text, row)) != JsonKind::Object {
            let column = match self.whole {
                Some(column) => column,
                None => {
                    let column = self.add(String::new(), true);
                    self.whole = Some(column);
                    column
                }
            };
            self.cell(text, column, row);
            return;
        }
        for child in children(text, row.start) {
            let Some(column) = self.column(slice(text, &child.key)) else { continue };
            self.cell(text, column, &child.value);
        }
    }

    /// The column of a key, which is the quoted text.
    fn column(&mut self, quoted: &'t str) -> Option<usize> {
        if let Some(&column) = self.by_key.get(quoted) {
            return Some(column);
        }
        let key = unquote(quoted).into_owned();
        let column = match self.by_name.get(&key).copied() {
            Some(column) => column,
            None if self.columns.len() >= MAX_COLUMNS => {
                if self.left_out.len() < MOST_LEFT_OUT {
                    self.left_out.insert(quoted);
                }
                return None;
            }
            None => self.add(key, false),
        };
        if self.by_key.len() < MOST_SPELLINGS {
            self.by_key.insert(quoted, column);
        }
        Some(column)
    }

    fn add(&mut self, key: String, whole: bool) -> usize {
        let column = self.columns.len();
        if !whole {
            self.by_name.insert(key.clone(), column);
        }
        self.columns.push(Found { key, whole, values: 0, numbers: 0, row: usize::MAX, cell: 0 });
        column
    }

    /// Notes a cell. When a key stands twice in a record the last one counts, as in JSON parsers; the inspector shows both.
    fn cell(&mut self, text: &str, column: usize, value: &Range<usize>) {
        let place = Place { column: index(column), start: index(value.start), end: index(value.end) };
        let row = self.rows.len();
        let Some(found) = self.columns.get_mut(column) else { return };
        let kind = JsonKind::of(slice(text, value));
        if std::mem::replace(&mut found.row, row) == row {
            if let Some(earlier) = self.cells.get_mut(found.cell) {
                *earlier = place;
            }
            return;
        }
        found.cell = self.cells.len();
        found.values += usize::from(kind != JsonKind::Null);
        found.numbers += usize::from(kind == JsonKind::Number);
        self.cells.push(place);
    }
}

fn slice<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

/// Texts of more than 4 GiB are never indexed (see [`classify`]), so this does not saturate.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
