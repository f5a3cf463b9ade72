//! JSON kept as the bytes that arrived.

use std::fmt;

use bytestring::ByteString;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::value::RawValue;

/// A JSON value kept as text, cheap to clone.
///
/// Numbers keep their digits and objects the order of their keys, so that what is shown, stored and sent is what the server wrote. The
/// larger part of a value ([`RawJson::part`]) shares the text of the whole: a table of a hundred thousand rows is in memory once,
/// however many take it apart.
#[derive(Clone)]
pub struct RawJson(ByteString);

impl RawJson {
    /// Takes text that must be one JSON value.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// The value cannot be represented, for example a map whose keys are not strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(|text| Self(text.into()))
    }

    /// A value that was found in `text`. It shares the text if it is most of it; otherwise it is copied, so that a small part does not
    /// keep a large rest in memory.
    pub fn within(text: &ByteString, found: &RawValue) -> Self {
        Self(part(text, found.get()))
    }

    /// A value that was found in this one; see [`RawJson::within`].
    pub fn part(&self, found: &RawValue) -> Self {
        Self::within(&self.0, found)
    }

    /// The text.
    pub fn get(&self) -> &str {
        &self.0
    }

    /// The text with its ownership, without a copy.
    pub fn into_text(self) -> ByteString {
        self.0
    }

    /// Its size on the wire, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Reads the text into a type.
    ///
    /// # Errors
    /// The value does not have the type's shape.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Reads the text into a type that borrows from it, such as one with `&RawValue` for [`RawJson::part`].
    ///
    /// # Errors
    /// The value does not have the type's shape.
    pub fn view<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Reads the text into a tree. Integers beyond 64 bits become floating point there; keep the text where digits matter.
    pub fn to_value(&self) -> serde_json::Value {
        self.to().unwrap_or(serde_json::Value::Null)
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }
}

fn part(whole: &ByteString, found: &str) -> ByteString {
    let (start, at) = (whole.as_ptr().addr(), found.as_ptr().addr());
    let inside = at >= start && at + found.len() <= start + whole.len();
    let most = found.len() > whole.len() / 2;
    if inside && most { whole.slice_ref(found) } else { ByteString::from(found) }
}

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        Self(String::from(Box::<str>::from(value)).into())
    }
}

impl From<&serde_json::Value> for RawJson {
    fn from(value: &serde_json::Value) -> Self {
        // A `Value` has string keys and finite numbers, so writing it cannot fail.
        Self::of(value).unwrap_or_else(|_| Self(ByteString::from_static("null")))
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // It was JSON when it was taken, so this reads it once more and never fails.
        serde_json::from_str::<&RawValue>(self.get())
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_the_very_text() {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow)]
            rows: &'a RawValue,
        }
        let whole = RawJson::parse(r#"{ "rows" : [1.10, 9007199254740993] }"#).unwrap();
        let rows = whole.part(whole.view::<Wire<'_>>().unwrap().rows);
        assert_eq!(rows.get(), "[1.10, 9007199254740993]");
        let inside = whole.get().as_bytes().as_ptr_range();
        assert!(inside.contains(&rows.get().as_ptr()), "it was copied");
        assert_eq!(serde_json::to_string(&rows).unwrap(), rows.get());
    }

    #[test]
    fn what_is_small_or_stands_elsewhere_is_copied() {
        let whole = RawJson::parse(r#"[7, "a long rest"]"#).unwrap();
        let first = whole.part(whole.view::<Vec<&RawValue>>().unwrap()[0]);
        assert_eq!(first.get(), "7");
        assert!(!whole.get().as_bytes().as_ptr_range().contains(&first.get().as_ptr()), "it keeps the rest");
        let other = RawValue::from_string("7".to_owned()).unwrap();
        assert_eq!(RawJson::parse("[7]").unwrap().part(&other).get(), "7");
    }
}
