//! Answers that a server allows to be used again (2026-07-28 server/utilities/caching).
//!
//! The key is the revision, the method and the parameters: a tool has another shape under another revision. Nothing is asked for again
//! by itself when its time is over. Deliberately absent: answers that depend on the person's input, which are never kept.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::Deserialize;
use usher_protocol::{RawJson, Revision};

/// How many answers are kept, and how many bytes of them. A server does not decide how much memory the host has.
const MAX_ENTRIES: usize = 128;
const MAX_BYTES: usize = 16 * 1024 * 1024;

type Key = (Revision, String, String);

struct Entry {
    result: RawJson,
    until: Instant,
}

/// The answers of one connection. It has one owner, so `cacheScope` makes no difference to it; when somebody signs in, it is emptied.
#[derive(Default)]
pub(super) struct Cache(Mutex<BTreeMap<Key, Entry>>);

impl Cache {
    /// An answer that may still be used.
    pub(super) fn get(
        &self,
        revision: Revision,
        method: &str,
        params: &RawJson,
        now: Instant,
    ) -> Option<RawJson> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| entry.until > now);
        entries.get(&key(revision, method, params)).map(|it| it.result.clone())
    }

    /// Keeps an answer for as long as its server allows.
    pub(super) fn put(
        &self,
        revision: Revision,
        method: &str,
        params: &RawJson,
        result: &RawJson,
        now: Instant,
    ) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cacheable {
            #[serde(default)]
            ttl_ms: f64,
        }
        // Without a number, or with a negative one, an answer is stale at once.
        let ttl_ms = result.to::<Cacheable>().map_or(0.0, |it| it.ttl_ms);
        let Ok(ttl) = Duration::try_from_secs_f64(ttl_ms / 1000.0) else { return };
        let Some(until) = now.checked_add(ttl).filter(|it| *it > now) else { return };
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: usize = entries.values().map(|it| it.result.bytes()).sum();
        if entries.len() < MAX_ENTRIES && bytes + result.bytes() <= MAX_BYTES {
            entries.insert(key(revision, method, params), Entry { result: result.clone(), until });
        }
    }

    /// Forgets everything: somebody else may be asking now.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Forgets what a notification says is no longer so.
    pub(super) fn forget(&self, method: &str, params: Option<&RawJson>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(_, kept, about), _| kept != method || params.is_some_and(|it| it.get() != about));
    }
}

fn key(revision: Revision, method: &str, params: &RawJson) -> Key {
    (revision, method.to_owned(), params.get().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIST: &str = "tools/list";

    fn kept(result: &serde_json::Value, after_ms: u64) -> bool {
        let (cache, now, params) = (Cache::default(), Instant::now(), json!({}).into());
        cache.put(Revision::V2026_07_28, LIST, &params, &result.into(), now);
        cache.get(Revision::V2026_07_28, LIST, &params, now + Duration::from_millis(after_ms)).is_some()
    }

    #[test]
    fn an_answer_lives_as_long_as_its_server_says() {
        assert!(kept(&json!({"ttlMs": 1000}), 999));
        assert!(!kept(&json!({"ttlMs": 1000}), 1000));
        for stale in [
            json!({}),
            json!({"ttlMs": 0}),
            json!({"ttlMs": -5}),
            json!({"ttlMs": 1e300}),
            json!({"ttlMs": "9"}),
        ] {
            assert!(!kept(&stale, 0), "{stale}");
        }
    }

    #[test]
    fn another_revision_or_page_is_another_answer() {
        let (cache, now) = (Cache::default(), Instant::now());
        let (first, second) = (RawJson::from(json!({})), RawJson::from(json!({"cursor": "2"})));
        cache.put(Revision::V2026_07_28, LIST, &first, &json!({"ttlMs": 1000}).into(), now);
        assert!(cache.get(Revision::V2026_12_01, LIST, &first, now).is_none());
        assert!(cache.get(Revision::V2026_07_28, LIST, &second, now).is_none());
        assert!(cache.get(Revision::V2026_07_28, LIST, &first, now).is_some());
        cache.forget(LIST, None);
        assert!(cache.get(Revision::V2026_07_28, LIST, &first, now).is_none());
    }

    #[test]
    fn one_resource_is_forgotten_alone() {
        let (cache, now) = (Cache::default(), Instant::now());
        let about = |uri: &str| RawJson::from(json!({"uri": uri}));
        for uri in ["a", "b"] {
            cache.put(
                Revision::V2026_07_28,
                "resources/read",
                &about(uri),
                &json!({"ttlMs": 1000}).into(),
                now,
            );
        }
        cache.forget("resources/read", Some(&about("a")));
        assert!(cache.get(Revision::V2026_07_28, "resources/read", &about("a"), now).is_none());
        assert!(cache.get(Revision::V2026_07_28, "resources/read", &about("b"), now).is_some());
    }
}
