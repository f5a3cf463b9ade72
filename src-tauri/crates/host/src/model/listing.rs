//! Which models an endpoint has, and which endpoints this machine has.
//!
//! Deliberately absent: any request that costs money; a test reads a list and nothing more.

use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;
use url::Url;

use super::{Endpoint, ModelClient, ModelError, error::shorten};

/// How long a provider may take to list its models.
const LIST_LIMIT: Duration = Duration::from_secs(15);

/// How long a server of this machine may take.
const PROBE_LIMIT: Duration = Duration::from_millis(800);

/// The usual addresses of local servers.
const USUAL: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
];

/// An endpoint that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalModels {
    /// The program that usually answers there.
    pub name: &'static str,
    /// Its address.
    pub base_url: Url,
    /// The models that it lists.
    pub models: Vec<String>,
}

impl ModelClient {
    /// The models that an endpoint lists, in its order.
    ///
    /// # Errors
    /// It cannot be reached, refuses the key, or answers something else.
    pub async fn models(&self, endpoint: &Endpoint) -> Result<Vec<String>, ModelError> {
        self.models_within(endpoint, LIST_LIMIT).await
    }

    /// The endpoints at the usual addresses of this machine that answer with a list of models.
    pub async fn find_local(&self) -> Vec<LocalModels> {
        let probe = async |(name, address): (&'static str, &str)| {
            let base_url = Url::parse(address).ok()?;
            let endpoint = Endpoint::Http { base_url: base_url.clone(), key: None };
            let models = self.models_within(&endpoint, PROBE_LIMIT).await.ok()?;
            Some(LocalModels { name, base_url, models })
        };
        join_all(USUAL.into_iter().map(probe)).await.into_iter().flatten().collect()
    }

    async fn models_within(&self, endpoint: &Endpoint, limit: Duration) -> Result<Vec<String>, ModelError> {
        match endpoint {
            Endpoint::Demo => Ok(vec!["demo".to_owned()]),
            Endpoint::Http { .. } => read(&self.get(endpoint, "models", limit).await?),
        }
    }
}

fn read(body: &str) -> Result<Vec<String>, ModelError> {
    #[derive(Deserialize)]
    struct List {
        #[serde(default)]
        data: Option<Vec<Listed>>,
    }
    #[derive(Deserialize)]
    struct Listed {
        id: String,
    }
    let list: List =
        serde_json::from_str(body).map_err(|_| ModelError::NotUnderstood { head: shorten(body, 200) })?;
    // Ollama without a model says null.
    Ok(list.data.unwrap_or_default().into_iter().map(|it| it.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_pages_are_not() {
        assert_eq!(
            read(r#"{"object":"list","data":[{"id":"b","x":1},{"id":"a"}]}"#),
            Ok(vec!["b".to_owned(), "a".to_owned()])
        );
        assert_eq!(read(r#"{"object":"list","data":null}"#), Ok(vec![]));
        assert!(matches!(read("<html>"), Err(ModelError::NotUnderstood { .. })));
    }
}
