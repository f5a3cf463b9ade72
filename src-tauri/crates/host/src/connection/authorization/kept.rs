//! What is kept of a sign-in: who was registered, and what was handed out, each under the authorization server that it came from.
//!
//! Credentials are bound to their issuer (2026-07-28 basic/authorization, "Authorization Server Binding"): the name of every entry holds
//! the issuer, so that what one handed out cannot be given to another by mistake. Deliberately absent: the place; see
//! [`CredentialKeeper`].

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Keeps credentials between runs: the system's keyring, or a file that only its owner may read. Calls may block.
pub trait CredentialKeeper: Send + Sync {
    /// An entry.
    ///
    /// # Errors
    /// The place cannot be read; says why, without a secret.
    fn credential(&self, name: &str) -> Result<Option<String>, String>;

    /// Keeps an entry, or forgets it.
    ///
    /// # Errors
    /// The place cannot be written; says why, without a secret.
    fn keep_credential(&self, name: &str, value: Option<&str>) -> Result<(), String>;
}

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Takes a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// The host, as an authorization server knows it (RFC 7591).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) client_id: String,
    #[serde(default)]
    pub(super) client_secret: Option<SecretText>,
    /// Where the browser was said to come back to. Many authorization servers compare the port, too.
    pub(super) redirect_uri: String,
    /// Set while a browser is away. If it never comes back, the authorization server may have forgotten the client, and showed an error
    /// that only the person sees; then the next sign-in registers anew.
    #[serde(default)]
    pub(super) in_doubt: bool,
}

/// What was handed out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tokens {
    /// To whom.
    pub(super) client_id: String,
    /// Gone when it turned out to be worthless; the scopes are remembered for the next sign-in.
    pub(super) access_token: Option<SecretText>,
    #[serde(default)]
    pub(super) refresh_token: Option<SecretText>,
    /// In seconds, from when it was received.
    #[serde(default)]
    pub(super) expires_in: Option<u64>,
    /// In seconds since 1970.
    pub(super) received_at: u64,
    /// What was asked for. A later sign-in asks for it, too (2026-07-28 basic/authorization, "Step-Up Authorization Flow").
    pub(super) asked: Vec<String>,
    /// What was granted.
    pub(super) granted: Vec<String>,
}

impl Tokens {
    /// Whether the token is at its end, or so near that a request might not arrive in time.
    pub(super) fn is_stale(&self, now: u64) -> bool {
        self.expires_in.is_some_and(|lifetime| {
            let left = (self.received_at + lifetime).saturating_sub(now);
            left == 0 || left < (lifetime / 2).min(30)
        })
    }
}

/// Where a server's people sign in: the issuer of what is in use.
#[derive(Serialize, Deserialize)]
struct Current {
    issuer: String,
}

/// The entries of one server.
#[derive(Clone)]
pub(super) struct Kept {
    keeper: Arc<dyn CredentialKeeper>,
    server: String,
}

impl Kept {
    pub(super) fn new(keeper: Arc<dyn CredentialKeeper>, server: String) -> Self {
        Self { keeper, server }
    }

    pub(super) async fn current_issuer(&self) -> Result<Option<String>, String> {
        Ok(self.get::<Current>(self.current_name()).await?.map(|it| it.issuer))
    }

    pub(super) async fn tokens(&self, issuer: &str) -> Result<Option<Tokens>, String> {
        self.get(self.name("tokens", issuer)).await
    }

    pub(super) async fn registration(&self, issuer: &str) -> Result<Option<Registration>, String> {
        self.get(self.name("client", issuer)).await
    }

    pub(super) async fn keep_tokens(&self, issuer: &str, tokens: Option<&Tokens>) -> Result<(), String> {
        self.set(self.name("tokens", issuer), tokens).await?;
        self.set(self.current_name(), Some(&Current { issuer: issuer.to_owned() })).await
    }

    pub(super) async fn keep_registration(
        &self,
        issuer: &str,
        registration: Option<&Registration>,
    ) -> Result<(), String> {
        self.set(self.name("client", issuer), registration).await
    }

    /// The server signs nobody in any more.
    pub(super) async fn forget(&self, issuer: &str) -> Result<(), String> {
        self.set::<Tokens>(self.name("tokens", issuer), None).await?;
        self.set::<Registration>(self.name("client", issuer), None).await?;
        self.set::<Current>(self.current_name(), None).await
    }

    fn current_name(&self) -> String {
        format!("oauth issuer for {}", self.server)
    }

    fn name(&self, what: &str, issuer: &str) -> String {
        format!("oauth {what} of {issuer} for {}", self.server)
    }

    async fn get<T: DeserializeOwned>(&self, name: String) -> Result<Option<T>, String> {
        let keeper = Arc::clone(&self.keeper);
        let text = unblocked(move || keeper.credential(&name)).await?;
        // An entry that cannot be understood is worth as much as none.
        Ok(text.and_then(|it| serde_json::from_str(&it).ok()))
    }

    async fn set<T: Serialize>(&self, name: String, value: Option<&T>) -> Result<(), String> {
        let text = value
            .map(serde_json::to_string)
            .transpose()
            .map_err(|_| "the entry cannot be written as JSON".to_owned())?;
        let keeper = Arc::clone(&self.keeper);
        unblocked(move || keeper.keep_credential(&name, text.as_deref())).await
    }
}

async fn unblocked<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(act).await.map_err(|_| "the place for credentials failed".to_owned())?
}
