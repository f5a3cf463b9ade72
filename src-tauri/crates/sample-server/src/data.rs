//! The made-up data: committed files, and events that are counted out by a rule.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use usher_protocol::{RawJson, common::Media};

macro_rules! asset {
    ($load:ident, $name:literal) => {
        $load!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../assets/sample/", $name))
    };
}

/// The View's HTML.
pub(crate) const VIEW: &str = asset!(include_str, "customers.html");
/// A picture, as PNG.
pub(crate) const SUNRISE: &[u8] = asset!(include_bytes, "sunrise.png");
const MOONRISE: &[u8] = asset!(include_bytes, "moonrise.webp");
const CHIME: &[u8] = asset!(include_bytes, "chime.wav");

/// A customer that nobody has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Customer {
    /// Beyond 2^53, where a double no longer tells neighbours apart.
    pub(crate) id: u64,
    pub(crate) customer_id: String,
    pub(crate) name: String,
    pub(crate) region: String,
    pub(crate) city: String,
    pub(crate) plan: String,
    pub(crate) owner: String,
    pub(crate) since: String,
    pub(crate) last_activity: String,
    /// A number with two decimals, kept as it is written.
    pub(crate) annual_revenue: RawJson,
    pub(crate) open_tickets: u32,
    pub(crate) is_active: bool,
    pub(crate) note: String,
}

impl Customer {
    /// Its revenue in whole cents.
    pub(crate) fn cents(&self) -> u64 {
        self.annual_revenue.get().replace('.', "").parse().unwrap_or(0)
    }
}

/// Every customer, in the order of the file.
pub(crate) static CUSTOMERS: LazyLock<Vec<Customer>> = LazyLock::new(|| {
    // A test reads the file and counts; a broken one gives no customers rather than no server.
    serde_json::from_str(asset!(include_str, "customers.json")).unwrap_or_default()
});

pub(crate) const REGIONS: [&str; 4] = ["NA", "EMEA", "APAC", "LATAM"];

/// Whole units of a sum of cents.
pub(crate) fn units(cents: u64) -> u64 {
    cents / 100
}

pub(crate) fn sunrise() -> Media {
    media(SUNRISE, "image/png")
}

pub(crate) fn moonrise() -> Media {
    media(MOONRISE, "image/webp")
}

pub(crate) fn chime() -> Media {
    media(CHIME, "audio/wav")
}

fn media(bytes: &[u8], mime: &str) -> Media {
    Media { data: STANDARD.encode(bytes), mime: mime.to_owned() }
}

/// The bytes of the picture that the resource link leads to.
pub(crate) fn sunrise_base64() -> String {
    STANDARD.encode(SUNRISE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_what_they_say() {
        assert_eq!(CUSTOMERS.len(), 400);
        assert_eq!(CUSTOMERS.iter().filter(|it| it.name.contains("Globex")).count(), 37);
        assert_eq!(CUSTOMERS[0].id, 9_007_199_254_740_993);
        assert!(CUSTOMERS.iter().all(|it| REGIONS.contains(&it.region.as_str()) && it.cents() > 0));
        assert_eq!(SUNRISE[1..4], *b"PNG");
        assert_eq!(MOONRISE[8..12], *b"WEBP");
        assert_eq!(CHIME[8..12], *b"WAVE");
        assert!(CHIME.len() < 60_000);
    }
}
