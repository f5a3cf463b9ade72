//! The operating system's keyring: the Keychain of macOS, the Credential Manager of Windows, the Secret Service elsewhere.
//!
//! Deliberately absent: when it is asked, and what happens without it; the store decides that.

use std::sync::Arc;

use usher_host::store::{Keyring, SecretPlace};

/// Where this program keeps secrets: the system's keyring, or the file if `USHER_SECRETS` is `file`.
pub(crate) fn place() -> SecretPlace {
    if std::env::var_os("USHER_SECRETS").is_some_and(|it| it == "file") {
        SecretPlace::File
    } else {
        SecretPlace::Keyring(Arc::new(OfSystem))
    }
}

struct OfSystem;

impl OfSystem {
    fn entry(account: &str) -> Result<keyring::Entry, String> {
        // Which error it was that there is no keyring, only the status says.
        if let Err(error) = keyring::Entry::store_status() {
            return Err(why(error));
        }
        keyring::Entry::new("Usher", account).map_err(|error| why(&error))
    }
}

impl Keyring for OfSystem {
    fn name(&self) -> String {
        if cfg!(target_os = "macos") {
            "the Keychain".to_owned()
        } else if cfg!(windows) {
            "the Credential Manager of Windows".to_owned()
        } else {
            "the keyring of this desktop (Secret Service)".to_owned()
        }
    }

    fn entry(&self, account: &str) -> Result<Option<String>, String> {
        match Self::entry(account)?.get_password() {
            Ok(value) => Ok(Some(value)),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(why(&error)),
        }
    }

    fn keep_entry(&self, account: &str, value: Option<&str>) -> Result<(), String> {
        let entry = Self::entry(account)?;
        let kept = match value {
            Some(value) => entry.set_password(value),
            None => entry.delete_credential(),
        };
        match kept {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(error) => Err(why(&error)),
        }
    }
}

/// Without what the entry holds, which some errors carry.
fn why(error: &keyring::Error) -> String {
    match error {
        keyring::Error::BadEncoding(_) => "the entry is no text".to_owned(),
        other => other.to_string(),
    }
}
