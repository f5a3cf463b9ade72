//! The window on a data folder whose sample server puts a canary into every variant, into the schemas and into `_meta`.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use tempfile::TempDir;
use usher_engine::selection::Consumers;
use usher_host::{
    connection::ConnectionOptions,
    conversation::{Host, HostOptions, Preferences, StoredSpec, Surroundings},
    model::Patience,
    store::StoreOptions,
};
use usher_tests::{
    canaries::{self, fresh_seed},
    window::{Options, Window},
};

/// The question that the demo model takes to `search_customers`.
pub(crate) const QUESTION: &str = "Which Globex accounts were active this week?";

/// A window and the seed of its canaries.
pub(crate) struct Stage {
    pub(crate) window: Window,
    pub(crate) seed: String,
    pub(crate) folder: TempDir,
}

impl Stage {
    /// Opens the window on a prepared data folder, after the tour.
    pub(crate) async fn open() -> anyhow::Result<Self> {
        Self::open_with(&[]).await
    }

    /// As [`Self::open`], with more flags for the sample server.
    pub(crate) async fn open_with(flags: &[&str]) -> anyhow::Result<Self> {
        Self::open_in(flags, Vec::new()).await
    }

    /// As [`Self::open_with`], with more of the application's environment.
    pub(crate) async fn open_in(flags: &[&str], env: Vec<(String, String)>) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let seed = fresh_seed();
        let mut args = vec!["sample-server".to_owned(), "--canaries".to_owned(), seed.clone()];
        args.extend(flags.iter().map(|it| (*it).to_owned()));
        prepare(folder.path().to_owned(), args, "system").await?;
        let window = Self::window_in(&folder, env).await?;
        Ok(Self { window, seed, folder })
    }

    /// A window on a folder.
    pub(crate) async fn window(folder: &TempDir) -> anyhow::Result<Window> {
        Self::window_in(folder, Vec::new()).await
    }

    async fn window_in(folder: &TempDir, env: Vec<(String, String)>) -> anyhow::Result<Window> {
        let options = Options { data_dir: Some(folder.path().to_owned()), env };
        let window = Window::open_with(options).await?;
        window
            .element("[data-testid=server-row][data-state=ready]")
            .await
            .context("the sample server did not come up")?;
        Ok(window)
    }

    /// Starts a conversation in a mode and asks.
    pub(crate) async fn ask(&self, mode: &str, text: &str) -> anyhow::Result<()> {
        self.click("[data-testid=new-conversation]").await?;
        self.window
            .until("the new conversation is open", async || {
                let empty = "return document.querySelector('[data-testid=item-user]') === null \
                             && document.querySelector('[data-testid=composer-input]') !== null";
                Ok(self.window.run(empty).await? == true)
            })
            .await?;
        if mode != "chat" {
            self.click("[data-testid=mode-select]").await?;
            self.click(&format!("[data-testid=mode-select-{mode}]")).await?;
        }
        self.say(text).await
    }

    /// Sends a message, and waits until it stands in the transcript and its request was recorded.
    pub(crate) async fn say(&self, text: &str) -> anyhow::Result<()> {
        let count = "return document.querySelectorAll('[data-testid=item-user]').length";
        let (said, sent) = (self.window.run(count).await?.as_u64().unwrap_or_default(), self.bodies()?.len());
        self.window
            .until("the composer takes the message", async || {
                // The page may draw the composer anew between finding it and typing; then nothing was typed.
                let composer = self.window.element("[data-testid=composer-input]").await?;
                Ok(composer.send_keys(text).await.is_ok())
            })
            .await?;
        self.click("[data-testid=composer-send]").await?;
        self.window
            .until("the message is on its way", async || {
                let now = self.window.run(count).await?.as_u64().unwrap_or_default();
                Ok(now > said && self.bodies()?.len() > sent)
            })
            .await
    }

    /// Allows the call that waits, and waits until it is done and the turn has ended.
    pub(crate) async fn allow_once(&self) -> anyhow::Result<()> {
        self.click("[data-testid=approval-once]").await?;
        self.window.element("[data-testid=tool-card][data-state=done]").await?;
        self.settled().await
    }

    /// Waits until an answer stands below the last call.
    pub(crate) async fn settled(&self) -> anyhow::Result<()> {
        self.window
            .until("the turn has ended", async || {
                Ok(self
                    .window
                    .run("return document.querySelector('[data-testid=composer-stop]') === null")
                    .await?
                    == true)
            })
            .await
    }

    pub(crate) async fn click(&self, css: &str) -> anyhow::Result<()> {
        self.window.click(css).await
    }

    /// The transcript's DOM, which is all that the user is shown.
    pub(crate) async fn transcript(&self) -> anyhow::Result<String> {
        let script = "return document.querySelector('[data-testid=transcript]').outerHTML";
        Ok(self.window.run(script).await?.as_str().unwrap_or_default().to_owned())
    }

    /// What the View of the newest call received, in its own words.
    pub(crate) async fn received_by_view(&self) -> anyhow::Result<String> {
        let window = &self.window;
        window
            .in_view("[data-testid=view-frame]", async {
                let received = "return (document.querySelector('#view-received') || {}).textContent || ''";
                window
                    .until("the View has a result", async || {
                        Ok(window.run(received).await?.as_str().is_some_and(|it| it.len() > 2))
                    })
                    .await?;
                Ok(window
                    .run("return document.documentElement.outerHTML")
                    .await?
                    .as_str()
                    .unwrap_or_default()
                    .to_owned())
            })
            .await
    }

    /// Every request body that was recorded, the newest last: the bytes that were sent to the model.
    pub(crate) fn bodies(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let database = rusqlite::Connection::open(self.folder.path().join("usher.db"))?;
        database.busy_timeout(Duration::from_secs(5))?;
        let mut query = database.prepare("SELECT body FROM exchange ORDER BY row")?;
        let rows = query.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Asserts that a canary stands in some bytes, or in no spelling in them.
    pub(crate) fn check(&self, place: &str, haystack: &str, canary: &str, present: bool) {
        let canary = format!("canary-{canary}-{}", self.seed);
        let forms = canaries::forms_in(haystack.as_bytes(), &canary);
        assert_eq!(!forms.is_empty(), present, "{canary} in {place}: found as {forms:?}");
    }
}

/// Writes the folder as an earlier run would have left it.
pub(crate) async fn prepare(folder: PathBuf, args: Vec<String>, theme: &str) -> anyhow::Result<()> {
    let options = HostOptions {
        data_dir: folder,
        own_program: usher_tests::window::binary()?.display().to_string(),
        consumers: Consumers::WINDOW,
        by_command: false,
        connection: ConnectionOptions::default(),
        store: StoreOptions::default(),
        patience: Patience::default(),
        surroundings: Surroundings::default(),
        clock: Arc::new(|| 1_764_000_000_000),
        ids: Arc::new(|| uuid::Uuid::now_v7().to_string()),
    };
    let (host, _events) = Host::open(options).await?;
    let spec = StoredSpec::built_in(args);
    host.save_server(Some("sample".to_owned()), "Sample".to_owned(), spec).await?;
    host.save_preferences(Preferences { theme: theme.to_owned(), tour_done: true, ..Preferences::default() })
        .await?;
    host.shut_down().await;
    Ok(())
}
