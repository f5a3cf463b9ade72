//! JSON kept as the bytes that arrived.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::value::RawValue;

/// A JSON value kept as text, cheap to clone.
///
/// Numbers keep their digits and objects the order of their keys, so that what is shown, stored and sent is what the server wrote.
#[derive(Clone)]
pub struct RawJson(Arc<RawValue>);

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
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Its size on the wire, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.get().len()
    }

    /// Reads the text into a type.
    ///
    /// # Errors
    /// The value does not have the type's shape.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
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

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        Self(value.into())
    }
}

impl From<&serde_json::Value> for RawJson {
    fn from(value: &serde_json::Value) -> Self {
        // A `Value` has string keys and finite numbers, so writing it cannot fail.
        Self::of(value).unwrap_or_else(|_| Self(Box::<RawValue>::default().into()))
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
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}
