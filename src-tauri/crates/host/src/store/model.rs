//! The models that can be chosen. Their API keys are not here but in [`super::Secrets`].

use rusqlite::params;

use super::{Store, StoreError, Written, open::Migration};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE model (
            id TEXT NOT NULL PRIMARY KEY, provider TEXT NOT NULL, base_url TEXT NOT NULL, name TEXT NOT NULL,
            context_tokens INTEGER, takes_images INTEGER NOT NULL, is_demo INTEGER NOT NULL
          ) STRICT;",
}];

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    /// Its id.
    pub id: String,
    /// Such as `Ollama`.
    pub provider: String,
    /// Where its endpoint is.
    pub base_url: String,
    /// What the provider calls it.
    pub name: String,
    /// Its context size in tokens, if known.
    pub context_tokens: Option<i64>,
    /// Whether it takes images.
    pub takes_images: bool,
    /// Whether it only matches words to tools.
    pub is_demo: bool,
}

impl Store {
    /// Adds or replaces a model.
    pub fn put_model(&self, row: ModelRow) -> Written {
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO model (id, provider, base_url, name, context_tokens, takes_images, is_demo)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (id) DO UPDATE SET provider = excluded.provider, base_url = excluded.base_url,
                       name = excluded.name, context_tokens = excluded.context_tokens,
                       takes_images = excluded.takes_images, is_demo = excluded.is_demo",
                    params![
                        row.id,
                        row.provider,
                        row.base_url,
                        row.name,
                        row.context_tokens,
                        row.takes_images,
                        row.is_demo
                    ],
                )
                .map(drop)
        })
    }

    /// Removes a model. Conversations keep its id. Its secret is removed with [`super::Secrets::set`].
    pub fn delete_model(&self, id: impl Into<String>) -> Written {
        let id = id.into();
        self.write(move |connection| connection.execute("DELETE FROM model WHERE id = ?1", [&id]).map(drop))
    }

    /// Every model, in the order in which they were added.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn models(&self) -> Result<Vec<ModelRow>, StoreError> {
        self.read(|connection| {
            let mut query = connection.prepare(
                "SELECT id, provider, base_url, name, context_tokens, takes_images, is_demo FROM model ORDER BY rowid",
            )?;
            query
                .query_map([], |row| {
                    Ok(ModelRow {
                        id: row.get(0)?,
                        provider: row.get(1)?,
                        base_url: row.get(2)?,
                        name: row.get(3)?,
                        context_tokens: row.get(4)?,
                        takes_images: row.get(5)?,
                        is_demo: row.get(6)?,
                    })
                })?
                .collect()
        })
        .await
    }
}
