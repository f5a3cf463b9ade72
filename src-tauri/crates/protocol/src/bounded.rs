//! Lists of which a peer cannot make the host keep more than so many items.
//!
//! Each item costs more in memory than it has to on the wire: `1,` is two bytes there, and a value with its place and its diagnostic
//! here. Deliberately absent: what the limits are, which those who read the lists know.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};

/// The first `MOST` items of a list, and how many more it had. Those are read past, and not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounded<T, const MOST: usize> {
    pub(crate) items: Vec<T>,
    pub(crate) left_out: usize,
}

impl<T, const MOST: usize> From<Vec<T>> for Bounded<T, MOST> {
    /// What the host writes is its own, and written whole.
    fn from(items: Vec<T>) -> Self {
        Self { items, left_out: 0 }
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Bounded<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct First<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for First<T, MOST> {
            type Value = Bounded<T, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut bounded = Bounded::from(Vec::new());
                while bounded.items.len() < MOST {
                    match list.next_element()? {
                        Some(item) => bounded.items.push(item),
                        None => return Ok(bounded),
                    }
                }
                while list.next_element::<IgnoredAny>()?.is_some() {
                    bounded.left_out += 1;
                }
                Ok(bounded)
            }
        }
        deserializer.deserialize_seq(First(PhantomData))
    }
}

impl<T: Serialize, const MOST: usize> Serialize for Bounded<T, MOST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_counted() {
        let read =
            |text: &str| serde_json::from_str::<Bounded<u8, 2>>(text).ok().map(|it| (it.items, it.left_out));
        assert_eq!(read("[]"), Some((vec![], 0)));
        assert_eq!(read("[1,2]"), Some((vec![1, 2], 0)));
        // What is not kept need not have the shape of an item, only be JSON.
        assert_eq!(read("[1,2,3,{},5]"), Some((vec![1, 2], 3)));
        assert_eq!(read("[1,2,"), None);
        assert_eq!(read("{}"), None);
    }
}
