//! What can go wrong between the host and a model, for people.
//!
//! Deliberately absent: keys. A provider's own words pass through [`provider_text`], which takes them out.

use super::EncodeError;

/// A request to a model did not end as it should.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum ModelError {
    /// Nothing listens at the address.
    #[error("Nothing answers at {url}: the connection was refused.")]
    Refused {
        /// The address.
        url: String,
    },
    /// No connection could be made.
    #[error("No connection to {url}: {why}.")]
    Unreachable {
        /// The address.
        url: String,
        /// Why, in the words of the transport.
        why: String,
    },
    /// 401 or 403.
    #[error("The provider at {url} did not accept the key ({status}): {text}")]
    Unauthorized {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The provider's words.
        text: String,
    },
    /// 404.
    #[error("The provider at {url} does not know the model {model:?} or the address: {text}")]
    NotFound {
        /// The address.
        url: String,
        /// The model that was asked for.
        model: String,
        /// The provider's words.
        text: String,
    },
    /// 400, 413 or 422.
    #[error("The provider refused the request ({status}): {text}")]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The provider's words.
        text: String,
        /// The tool that its words point at, if any.
        tool: Option<String>,
    },
    /// 429 until the attempts were used up, or a wait that is too long.
    #[error("The provider takes no more requests at the moment: {text}")]
    RateLimited {
        /// How long it asks to wait, in seconds, if it says so.
        retry_after_s: Option<u64>,
        /// The provider's words.
        text: String,
    },
    /// Any other status.
    #[error("The provider answered with status {status}: {text}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// The provider's words.
        text: String,
    },
    /// An error in the middle of the stream.
    #[error("The provider reported an error while it answered: {text}")]
    MidStream {
        /// The provider's words.
        text: String,
    },
    /// No byte for too long.
    #[error("The provider sent nothing for {seconds} seconds.")]
    Stalled {
        /// How long, in seconds.
        seconds: u64,
    },
    /// The stream ended before the answer did.
    #[error("The answer was cut off before it was complete{}.", why.as_deref().map(|it| format!(" ({it})")).unwrap_or_default())]
    Cut {
        /// The transport's words, if it failed.
        why: Option<String>,
    },
    /// The answer is not what the format says.
    #[error("What answers is not a model endpoint, or not of this format: {head:?}")]
    NotUnderstood {
        /// The beginning of what came.
        head: String,
    },
    /// An answer is larger than the host accepts.
    #[error("The provider sent a single line of more than {limit} bytes.")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The user stopped it.
    #[error("You stopped the answer.")]
    Cancelled,
    /// The request could not be recorded and so was not sent.
    #[error("The request could not be recorded, so it was not sent: {why}")]
    NotRecorded {
        /// Why.
        why: String,
    },
    /// The request could not be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The client could not be built.
    #[error("The HTTP client could not be started: {why}")]
    Client {
        /// Why.
        why: String,
    },
}

impl ModelError {
    /// What is safe.
    pub fn safe(&self) -> &'static str {
        match self {
            Self::Refused { .. } | Self::Unreachable { .. } | Self::Encode(_) | Self::Client { .. } => {
                "Nothing was sent. Your message is saved."
            }
            // Not "saved": the disk may refuse the results as well, and then they wait in memory.
            Self::NotRecorded { .. } => "Your message is kept, and so is every result so far.",
            Self::Unauthorized { .. }
            | Self::NotFound { .. }
            | Self::Rejected { .. }
            | Self::RateLimited { .. }
            | Self::Status { .. } => "Your message is saved, and so is every result so far.",
            Self::MidStream { .. }
            | Self::Stalled { .. }
            | Self::Cut { .. }
            | Self::NotUnderstood { .. }
            | Self::TooLarge { .. }
            | Self::Cancelled => "What arrived is kept. A call that was not complete was not made.",
        }
    }

    /// What to do.
    pub fn todo(&self) -> String {
        match self {
            Self::Refused { .. } => "Start the model server, or correct its address in the settings.".to_owned(),
            Self::Unreachable { .. } => "Check the network, the proxy and the address, then try again.".to_owned(),
            Self::Unauthorized { .. } => "Enter the provider's key again in the settings.".to_owned(),
            Self::NotFound { .. } => {
                "Choose a model that the provider lists (the test button shows them), or add /v1 to the address.".to_owned()
            }
            Self::Rejected { tool: Some(tool), .. } => format!("Switch off the tool {tool}, or look at its schema in the list of the server's tools."),
            Self::Rejected { tool: None, .. } => {
                "Read the provider's words; the Model context tab shows the request. A shorter conversation or another model may do.".to_owned()
            }
            Self::RateLimited { retry_after_s: Some(seconds), .. } => format!("Try again in {seconds} seconds."),
            Self::RateLimited { retry_after_s: None, .. } => "Wait a little and try again.".to_owned(),
            Self::Status { status: 300..400, .. } => {
                "Correct the address in the settings: it sends requests elsewhere, and Usher does not follow.".to_owned()
            }
            Self::Status { .. } | Self::MidStream { .. } | Self::Cut { .. } => "Try again.".to_owned(),
            Self::Stalled { .. } => "Try again. A large local model may need longer for its first word.".to_owned(),
            Self::NotUnderstood { .. } => "Check that the address is of an OpenAI-compatible endpoint; it often ends in /v1.".to_owned(),
            Self::TooLarge { .. } => "Use another endpoint; this one does not stream properly.".to_owned(),
            Self::Cancelled => "Ask again when you like.".to_owned(),
            Self::NotRecorded { .. } => "Free some disk space and try again.".to_owned(),
            Self::Encode(_) => "Correct the provider in the settings.".to_owned(),
            Self::Client { .. } => "Restart Usher; if it stays so, the system's certificates cannot be read.".to_owned(),
        }
    }
}

/// What a provider says in an error body, shortened to 600 characters, without `key`.
pub(super) fn provider_text(body: &str, key: Option<&str>) -> String {
    let said = serde_json::from_str::<serde_json::Value>(body).ok().and_then(|it| said_in(&it));
    let mut text = said.unwrap_or_else(|| body.trim().to_owned());
    if let Some(key) = key.filter(|it| !it.is_empty()) {
        text = text.replace(key, "(key)");
    }
    let text = shorten(&text, 600);
    if text.is_empty() { "it gave no reason".to_owned() } else { text }
}

/// The message of an error object, in the places where providers put it.
pub(super) fn said_in(value: &serde_json::Value) -> Option<String> {
    let value = match value {
        // Gemini's compatible endpoint wraps the object in an array.
        serde_json::Value::Array(list) => list.first()?,
        other => other,
    };
    let error = value.get("error").unwrap_or(value);
    let text = |it: &serde_json::Value| it.as_str().map(str::to_owned);
    text(error).or_else(|| {
        ["message", "detail", "error_description"].iter().find_map(|key| error.get(key).and_then(text))
    })
}

/// The first `limit` characters, with control characters made spaces.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    let mut out: String = text.chars().take(limit).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}

/// The position of the tool that a provider's words name, as in `tools[3].function.name` or `tools.3.custom`.
pub(super) fn tool_index(text: &str) -> Option<usize> {
    text.match_indices("tools").find_map(|(at, word)| {
        let rest = text.get(at + word.len()..)?.strip_prefix(['[', '.'])?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_quoted_from_wherever_it_puts_its_words() {
        let texts = [
            r#"{"error":{"message":"no","code":1}}"#,
            r#"{"error":"no"}"#,
            r#"{"detail":"no"}"#,
            r#"[{"error":{"message":"no"}}]"#,
            "no",
        ];
        for text in texts {
            assert_eq!(provider_text(text, None), "no", "{text}");
        }
        assert_eq!(provider_text("", None), "it gave no reason");
    }

    #[test]
    fn a_key_never_comes_back_in_an_error() {
        assert_eq!(
            provider_text(r#"{"error":{"message":"bad key sk-1234"}}"#, Some("sk-1234")),
            "bad key (key)"
        );
    }

    #[test]
    fn the_tool_that_a_provider_points_at_is_found() {
        assert_eq!(tool_index("Invalid 'tools[12].function.name': string does not match"), Some(12));
        assert_eq!(tool_index("tools.0.custom.input_schema: JSON schema is invalid"), Some(0));
        assert_eq!(tool_index("too many tools"), None);
    }
}
