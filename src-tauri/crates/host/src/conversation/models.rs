//! The models that can be chosen. Keys stay among the store's secrets and are read only to send a request, never on a thread that others
//! need: a keyring may ask the person first.

use serde::{Deserialize, Serialize};
use url::Url;

use super::{Host, HostError, HostEvent, lock};
use crate::{
    model::{Endpoint, ModelSpec, Secret},
    store::{ModelRow, Store, StoreError},
};

/// The id of the model that needs no weights.
pub const DEMO_MODEL: &str = "demo";

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEntry {
    /// Its id.
    pub id: String,
    /// Its name on the wire.
    pub name: String,
    /// Who serves it, for people.
    pub provider: String,
    /// The address before `/chat/completions`; empty for the demo.
    pub base_url: String,
    /// Its context size in tokens.
    pub context_tokens: Option<u64>,
    /// Whether it takes pictures.
    pub takes_images: bool,
    /// Whether it only matches words to tools.
    pub is_demo: bool,
    /// Whether a key is kept for it.
    pub has_key: bool,
}

/// A model as the user describes it.
#[derive(Debug, Clone, Default)]
pub struct NewModel {
    /// Its id, to change one.
    pub id: Option<String>,
    /// Who serves it.
    pub provider: String,
    /// The address before `/chat/completions`.
    pub base_url: String,
    /// Its name on the wire.
    pub name: String,
    /// Its key; `None` keeps the one there is.
    pub key: Option<String>,
    /// Its context size in tokens.
    pub context_tokens: Option<u64>,
    /// Whether it takes pictures.
    pub takes_images: bool,
}

/// The models, in the order in which they were added; the demo is first.
#[derive(Debug, Default)]
pub(super) struct Models(Vec<ModelEntry>);

impl Models {
    pub(super) async fn load(store: &Store) -> Result<Self, StoreError> {
        let demo = ModelEntry {
            id: DEMO_MODEL.to_owned(),
            name: "Demo".to_owned(),
            provider: "matches words to tools".to_owned(),
            base_url: String::new(),
            context_tokens: Some(8_192),
            takes_images: false,
            is_demo: true,
            has_key: false,
        };
        let stored = store.models().await?.into_iter().filter(|it| !it.is_demo).map(|row| ModelEntry {
            has_key: store.secrets().has(&secret_name(&row.id)),
            id: row.id,
            name: row.name,
            provider: row.provider,
            base_url: row.base_url,
            context_tokens: row.context_tokens.and_then(|it| u64::try_from(it).ok()),
            takes_images: row.takes_images,
            is_demo: false,
        });
        Ok(Self(std::iter::once(demo).chain(stored).collect()))
    }
}

fn secret_name(model_id: &str) -> String {
    format!("model/{model_id}")
}

impl Host {
    /// Every model.
    pub fn models(&self) -> Vec<ModelEntry> {
        lock(&self.0.models).0.clone()
    }

    /// Adds or changes a model.
    ///
    /// # Errors
    /// The address is none, or the disk refuses.
    pub async fn save_model(&self, new: NewModel) -> Result<ModelEntry, HostError> {
        let address = read_address(&new.base_url)?;
        let id = new.id.unwrap_or_else(|| self.new_id());
        let row = ModelRow {
            id: id.clone(),
            provider: new.provider.clone(),
            base_url: address.to_string(),
            name: new.name.clone(),
            context_tokens: new.context_tokens.and_then(|it| i64::try_from(it).ok()),
            takes_images: new.takes_images,
            is_demo: false,
        };
        self.store().refusing().put_model(row).await?;
        if let Some(key) = &new.key {
            let key = Some(key.trim()).filter(|it| !it.is_empty()).map(str::to_owned);
            self.keep_secrets(vec![(secret_name(&id), key)]).await?;
        }
        let entry = ModelEntry {
            has_key: self.store().secrets().has(&secret_name(&id)),
            id,
            name: new.name,
            provider: new.provider,
            base_url: address.to_string(),
            context_tokens: new.context_tokens,
            takes_images: new.takes_images,
            is_demo: false,
        };
        {
            let mut models = lock(&self.0.models);
            match models.0.iter_mut().find(|it| it.id == entry.id) {
                Some(old) => *old = entry.clone(),
                None => models.0.push(entry.clone()),
            }
        }
        self.tell(HostEvent::Models(self.models()));
        Ok(entry)
    }

    /// Removes a model and its key.
    ///
    /// # Errors
    /// The disk refuses, or the keyring does not forget the key; then the model is gone all the same.
    pub async fn remove_model(&self, id: &str) -> Result<(), HostError> {
        self.store().refusing().delete_model(id).await?;
        lock(&self.0.models).0.retain(|it| it.id != id || it.is_demo);
        self.tell(HostEvent::Models(self.models()));
        self.keep_secrets(vec![(secret_name(id), None)]).await
    }

    /// Whether the model of an open conversation takes pictures.
    pub(super) fn takes_pictures(&self, conversation_id: &str) -> bool {
        let live = self.live_map().get(conversation_id).cloned();
        let chosen = live.map(|it| it.with(|it| it.row.model_id.clone()));
        lock(&self.0.models).0.iter().any(|it| Some(&it.id) == chosen.as_ref() && it.takes_images)
    }

    /// A model with its key, ready to be asked.
    pub(super) async fn model_spec(&self, id: &str) -> Result<ModelSpec, HostError> {
        let entry = self.models().into_iter().find(|it| it.id == id).ok_or_else(|| {
            HostError::new(
                "The model of this conversation was removed.",
                "Your message is kept.",
                "Choose another model below and try again.",
            )
        })?;
        let endpoint = if entry.is_demo {
            Endpoint::Demo
        } else {
            let (host, name) = (self.clone(), secret_name(id));
            let read = tokio::task::spawn_blocking(move || host.store().secrets().get(&name)).await;
            let key = read.ok().flatten().map(|it| Secret::new(&it));
            Endpoint::Http { base_url: read_address(&entry.base_url)?, key }
        };
        Ok(ModelSpec {
            name: entry.name,
            endpoint,
            takes_images: entry.takes_images,
            context_tokens: entry.context_tokens,
            max_output_tokens: None,
        })
    }
}

/// Reads the address of a provider.
pub(super) fn read_address(text: &str) -> Result<Url, HostError> {
    let refuse = |why: String| {
        HostError::new(
            format!("{text:?} is not the address of a model endpoint: {why}."),
            "Nothing was sent.",
            "Enter an address such as http://127.0.0.1:11434/v1.",
        )
    };
    let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|error| refuse(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(refuse(format!("{other} is neither http nor https"))),
    }
}
