//! What surrounds the host on this computer: the person's folders and variables, and what opens an address outside.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

/// Opens an address, or says why not.
pub type Open = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// What surrounds the host.
#[derive(Clone)]
pub struct Surroundings {
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// The system's folder for settings.
    pub config: Option<PathBuf>,
    /// A folder that is worked in, if the host was started in one.
    pub project: Option<PathBuf>,
    /// The person's folder for downloads.
    pub downloads: Option<PathBuf>,
    /// The variables that `${env:…}` stands for.
    pub env: Arc<dyn Fn() -> BTreeMap<String, String> + Send + Sync>,
    /// Opens an address outside, which the person agreed to; says why not.
    pub open: Open,
    /// Whether servers that are on are started. A command that only changes the list starts none.
    pub starts_servers: bool,
}

impl Default for Surroundings {
    /// Nothing around, and no browser.
    fn default() -> Self {
        Self {
            home: None,
            config: None,
            downloads: None,
            project: None,
            env: Arc::new(BTreeMap::new),
            open: Arc::new(|_| Err("there is no browser here".to_owned())),
            starts_servers: true,
        }
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("home", &self.home)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}
