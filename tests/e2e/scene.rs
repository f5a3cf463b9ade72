//! A window on a conversation with a View: the data folder as an earlier run left it, with a scripted server, and the window that opens on it.
//!
//! Deliberately absent: what the View does and what must come of it; each test has its own page and its own questions.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use tempfile::TempDir;
use usher_host::conversation::Preferences;
use usher_tests::{
    scripted_server::Script,
    stage::{SERVER, Setting, Stage},
    window::{self, Options, Window},
};

const CHILD: &str = env!("CARGO_BIN_EXE_usher-child");
pub(crate) const FRAME: &str = "[data-testid=view-frame]";

/// A data folder whose one server is there and whose tour is over.
pub(crate) struct Prepared {
    pub(crate) folder: TempDir,
}

impl Prepared {
    /// A folder with a scripted server, and what was done there before.
    pub(crate) async fn scripted(
        script: &Script,
        theme: &str,
        before: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        Self::with(folder, &setting, theme, before).await
    }

    /// A folder with a scripted server, one of whose tools was called by hand in a conversation.
    pub(crate) async fn called(script: &Script, theme: &str, tool: &str) -> anyhow::Result<Self> {
        Self::scripted(script, theme, async |stage| {
            let conversation = stage.host.create_conversation(None, None).await?.id;
            stage.host.call_tool(&conversation, SERVER, tool, "{}").await?;
            Ok(())
        })
        .await
    }

    /// A folder with the sample server, and what was done there before.
    pub(crate) async fn sample(
        theme: &str,
        before: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        Self::with(TempDir::new()?, &Setting::sample::<&str>(CHILD, &[]), theme, before).await
    }

    async fn with(
        folder: TempDir,
        setting: &Setting,
        theme: &str,
        before: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let stage = Stage::open_in(&folder.path().join("data"), setting).await;
        stage.ready(SERVER).await;
        let preferences = Preferences { tour_done: true, theme: theme.to_owned(), ..Preferences::default() };
        stage.host.save_preferences(preferences).await?;
        before(&stage).await?;
        stage.close().await;
        Ok(Self { folder })
    }

    /// The window on the folder, once its server is there, with the conversation open.
    pub(crate) async fn window(&self) -> anyhow::Result<Window> {
        self.window_of(&window::binary()?, Vec::new()).await
    }

    /// The same of another program than the one under test, with more in its environment.
    pub(crate) async fn window_of(
        &self,
        program: &Path,
        env: Vec<(String, String)>,
    ) -> anyhow::Result<Window> {
        let window = Window::open_program(program, Options { env, ..self.options() }).await?;
        let ready = window.element("[data-testid=server-row][data-state=ready]").await;
        ready.context("the server did not come up")?;
        window.click("[data-testid=conversation-row]").await?;
        Ok(window)
    }

    /// How a window is opened on the folder.
    pub(crate) fn options(&self) -> Options {
        Options { data_dir: Some(self.folder.path().join("data")), env: Vec::new() }
    }

    /// How many rows a table has, such as `conversation`, which each command that is tried would make more of.
    pub(crate) fn rows(&self, table: &str) -> anyhow::Result<i64> {
        let database = rusqlite::Connection::open(self.folder.path().join("data/usher.db"))?;
        database.busy_timeout(Duration::from_secs(5))?;
        Ok(database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?)
    }
}
