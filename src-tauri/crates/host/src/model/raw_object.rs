//! A JSON object that can be changed without touching the text of its values.
//!
//! Deliberately absent: reading the values.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;
use usher_protocol::RawJson;

/// A JSON object with its values kept as text and its keys in order.
#[derive(Debug, Clone, Default)]
pub(super) struct RawObject(pub(super) Vec<(String, RawJson)>);

impl RawObject {
    pub(super) fn of(raw: &RawJson) -> Option<Self> {
        raw.to().ok()
    }

    pub(super) fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, key: &str, value: RawJson) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<RawJson> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    pub(super) fn to_json(&self) -> RawJson {
        let mut text = String::from("{");
        for (index, (key, value)) in self.0.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&Value::from(key.as_str()).to_string());
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        raw(text)
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut object = RawObject::default();
                while let Some((key, value)) = map.next_entry::<String, RawJson>()? {
                    object.set(&key, value);
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Text that was put together from JSON is JSON.
pub(super) fn raw(text: String) -> RawJson {
    RawJson::parse(text).unwrap_or_else(|_| Value::Null.into())
}
