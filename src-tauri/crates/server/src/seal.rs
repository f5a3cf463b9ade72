//! `requestState`: what a server would have to remember between the rounds of a request, kept by the client, and signed so that it
//! comes back as it left (2026-07-28 basic/patterns/mrtr).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::Sha256;

/// Signs and checks states. Servers that share the work share the key.
#[derive(Clone)]
pub(crate) struct Seal(Hmac<Sha256>);

impl Seal {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        // A key shorter than a block is filled with zeroes, as HMAC has it.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        Self(Hmac::new(&block))
    }

    /// A key that no other process has.
    pub(crate) fn fresh() -> Self {
        let mut key = [0; 32];
        let (left, right) = key.split_at_mut(16);
        left.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        right.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        Self::new(&key)
    }

    /// Seals the answers that a request has so far. `scope` names the request, so that a state of another one is refused.
    pub(crate) fn close(&self, scope: &str, answers: &Map<String, Value>) -> String {
        let body = Value::Object(answers.clone()).to_string();
        let tag = self.tag(scope, &body).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(body), URL_SAFE_NO_PAD.encode(tag))
    }

    /// Opens a state; `None` if it was not sealed here, or for another request.
    pub(crate) fn open(&self, scope: &str, state: &str) -> Option<Map<String, Value>> {
        let (body, tag) = state.split_once('.')?;
        let body = String::from_utf8(URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        // In constant time, so that a tag cannot be found byte by byte.
        self.tag(scope, &body).verify_slice(&tag).ok()?;
        serde_json::from_str(&body).ok()
    }

    fn tag(&self, scope: &str, body: &str) -> Hmac<Sha256> {
        let mut tag = self.0.clone();
        // Neither part can be read as a piece of the other.
        tag.update(&u64::try_from(scope.len()).unwrap_or(u64::MAX).to_be_bytes());
        tag.update(scope.as_bytes());
        tag.update(body.as_bytes());
        tag
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_comes_back_as_it_left_or_not_at_all() {
        let seal = Seal::new(&[7; 32]);
        let answers = json!({"a": {"action": "accept"}}).as_object().unwrap().clone();
        let state = seal.close("tools/call t {}", &answers);
        assert_eq!(seal.open("tools/call t {}", &state), Some(answers.clone()));
        assert_eq!(seal.open("tools/call u {}", &state), None);
        assert_eq!(seal.open("tools/call t {}", &format!("{state}-TAMPERED")), None);
        assert_eq!(seal.open("tools/call t {}", ""), None);
        assert_eq!(Seal::fresh().open("tools/call t {}", &state), None);
        let forged = URL_SAFE_NO_PAD.encode(r#"{"a":1}"#);
        assert_eq!(
            seal.open("tools/call t {}", &format!("{forged}.{}", state.split_once('.').unwrap().1)),
            None
        );
    }
}
