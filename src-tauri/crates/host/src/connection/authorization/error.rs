//! Why the host may not ask a server.

use rmcp::transport::auth::AuthError;

/// How much is shown of what an authorization server says, in bytes.
const MAX_SAID: usize = 300;

/// Signing in at a server did not succeed. Nothing in it is secret. `Display` says what happened; [`AuthorizationError::todo`] what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationError {
    /// Where to sign in is not published, or not for this server (RFC 9728, RFC 8414).
    #[error("where to sign in could not be found out: {why}")]
    Undiscovered {
        /// What is wrong.
        why: String,
    },
    /// The authorization server does not say that it protects the code (2026-07-28 basic/authorization, "Authorization Code Protection").
    #[error(
        "{issuer} does not say that it supports PKCE with S256, without which the sign-in could be stolen"
    )]
    NoPkce {
        /// The authorization server.
        issuer: String,
    },
    /// An endpoint is not to be trusted with a secret.
    #[error("the {endpoint} endpoint {url:?} is not https")]
    UnsafeEndpoint {
        /// Which: `authorization`, `token` or `registration`.
        endpoint: &'static str,
        /// Its address, as published.
        url: String,
    },
    /// The authorization server does not know the host and will not.
    #[error("{issuer} did not register Usher: {why}")]
    NotRegistered {
        /// The authorization server.
        issuer: String,
        /// What it said. Untrusted.
        why: String,
    },
    /// The client that was given for this server belongs to another authorization server.
    #[error(
        "the server now signs in at {issuer}, but the client identifier that was given for it is for {expected}"
    )]
    OtherIssuer {
        /// The authorization server now.
        issuer: String,
        /// The one that the client identifier is for.
        expected: String,
    },
    /// The person did not want to sign in.
    #[error("the sign-in was declined")]
    Declined,
    /// The browser could not be opened.
    #[error("the browser could not be opened: {why}")]
    NotOpened {
        /// What the system says.
        why: String,
    },
    /// There is no place for the browser to come back to.
    #[error("no port of this computer could be opened for the browser to come back to: {why}")]
    NoWayBack {
        /// What the system says.
        why: String,
    },
    /// The browser did not come back.
    #[error("the browser did not come back within {minutes} minutes")]
    TimedOut {
        /// How long the host waited.
        minutes: u64,
    },
    /// The authorization server said no.
    #[error("{issuer} refused ({code}{})", if said.is_empty() { String::new() } else { format!(": {said}") })]
    Refused {
        /// The authorization server.
        issuer: String,
        /// The error code of RFC 6749.
        code: String,
        /// What it said. Untrusted.
        said: String,
    },
    /// The browser came back from somebody else than was asked (RFC 9207).
    #[error("the answer came from {}, not from {expected}; it was not used", received.as_deref().unwrap_or("somebody who is not named"))]
    WrongIssuer {
        /// Who was asked.
        expected: String,
        /// Who answered, if it is said.
        received: Option<String>,
    },
    /// An endpoint did not answer as one.
    #[error("{issuer} did not answer as it should: {why}")]
    BadAnswer {
        /// The authorization server.
        issuer: String,
        /// What is wrong.
        why: String,
    },
    /// Signing in once more would not change anything.
    #[error("the server still refuses after signing in{}", wanted(scopes))]
    StillRefused {
        /// What it wants on top, if it says so.
        scopes: Vec<String>,
    },
}

impl AuthorizationError {
    /// What the person can do about it.
    pub fn todo(&self) -> &'static str {
        match self {
            Self::Undiscovered { .. } => {
                "Check the server's address. If it takes a key instead of a sign-in, give the key in a header."
            }
            Self::NoPkce { .. } | Self::UnsafeEndpoint { .. } => {
                "Nothing was sent to it that is secret. Report this to the server's authors."
            }
            // The token endpoint has had a code or a refresh token by then.
            Self::BadAnswer { .. } => {
                "Nothing that it answered is used. Connect again to sign in; if it happens again, report it to the server's authors."
            }
            Self::NotRegistered { .. } => {
                "Usher registers by itself or not at all. If the server also takes a key, give the key in a header; otherwise ask whoever runs it to let clients register."
            }
            Self::OtherIssuer { .. } => {
                "Nothing was sent. If the server really moved, it cannot be used with this client identifier any more."
            }
            Self::Declined | Self::TimedOut { .. } => "Nothing was changed. Connect again to sign in.",
            Self::NotOpened { .. } => "Check that this computer has a default browser, then connect again.",
            Self::NoWayBack { .. } => {
                "Look for what keeps programs from opening a port on this computer, then connect again."
            }
            Self::Refused { .. } => "Connect again to sign in, perhaps with another account.",
            Self::WrongIssuer { .. } => {
                "Nothing was changed. Somebody may have tried to use your sign-in; do not repeat it before you know why."
            }
            Self::StillRefused { .. } => {
                "Ask whoever runs the server to allow your account what it refuses, or sign in with another one."
            }
        }
    }
}

impl AuthorizationError {
    /// Whether the authorization server does not know the client (any more).
    pub(super) fn is_of_unknown_client(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if matches!(code.as_str(), "invalid_client" | "unauthorized_client"))
    }

    /// The same error without what an authorization server repeated of a secret.
    pub(super) fn without<'a>(mut self, secrets: impl IntoIterator<Item = &'a str>) -> Self {
        if let Self::Refused { said, .. } = &mut self {
            for secret in secrets.into_iter().filter(|it| !it.is_empty()) {
                *said = said.replace(secret, "[secret]");
            }
        }
        self
    }

    /// What an error of rmcp means here. Its text may repeat what the authorization server sent, so little of it is taken over.
    pub(super) fn of(error: AuthError, issuer: &str) -> Self {
        let issuer = issuer.to_owned();
        match error {
            AuthError::PkceUnsupported => Self::NoPkce { issuer },
            AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer } => {
                Self::WrongIssuer { expected: expected_issuer, received: Some(received_issuer) }
            }
            AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
                Self::WrongIssuer { expected: expected_issuer, received: None }
            }
            AuthError::RegistrationFailed(why) => {
                let why =
                    if why.starts_with("HTTP") { cut(&why) } else { "its answer cannot be read".to_owned() };
                Self::NotRegistered { issuer, why }
            }
            AuthError::TokenExchangeFailed(text)
            | AuthError::TokenRefreshFailed(text)
            | AuthError::TokenRefreshRejected(text) => Self::of_token_endpoint(issuer, &text),
            AuthError::DiscoveryRequestFailed { url, source } => {
                Self::Undiscovered { why: format!("{url} did not answer ({})", cut(&with_causes(&*source))) }
            }
            AuthError::ProtectedResourceMetadataInvalid { .. }
            | AuthError::AuthorizationServersUnavailable { .. }
            | AuthError::UrlError(_)
            | AuthError::NoAuthorizationSupport => Self::Undiscovered { why: cut(&error.to_string()) },
            AuthError::OAuthError(why) => Self::BadAnswer { issuer, why: cut(&why) },
            AuthError::InvalidScope(_) => {
                Self::BadAnswer { issuer, why: "it does not hand out codes".to_owned() }
            }
            // Their texts say nothing that a person could use, and might repeat a secret.
            _ => Self::BadAnswer { issuer, why: "its answer cannot be used".to_owned() },
        }
    }

    fn of_token_endpoint(issuer: String, text: &str) -> Self {
        let Some(said) = text.strip_prefix("Server returned error response: ") else {
            let why = if text == "Request failed" {
                "the token endpoint could not be reached"
            } else {
                "the answer of the token endpoint cannot be read"
            };
            return Self::BadAnswer { issuer, why: why.to_owned() };
        };
        let (code, said) = said.split_once(": ").unwrap_or((said, ""));
        let code = code.split(" (see ").next().unwrap_or(code);
        Self::Refused { issuer, code: cut(code), said: cut(said) }
    }
}

/// Cuts what somebody else wrote, at a character's border.
pub(super) fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_SAID)].trim().to_owned()
}

fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

fn wanted(scopes: &[String]) -> String {
    if scopes.is_empty() { String::new() } else { format!("; it wants {}", scopes.join(", ")) }
}
