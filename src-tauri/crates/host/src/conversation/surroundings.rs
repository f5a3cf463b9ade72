//! What surrounds the host on this computer: the person's folders and variables, and what opens an address outside.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

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
    /// The folder in which the program was started: paths that a person writes begin there.
    pub started_in: Option<PathBuf>,
    /// The person's folder for downloads.
    pub downloads: Option<PathBuf>,
    /// Where fixtures of the bench are kept that have a name, if not in the data folder.
    pub fixtures: Option<PathBuf>,
    /// The variables that `${env:…}` stands for.
    pub env: Arc<dyn Fn() -> BTreeMap<String, String> + Send + Sync>,
    /// Opens an address outside, which the person agreed to; says why not.
    pub open: Open,
    /// Whether servers that are on are started. A command that only changes the list starts none.
    pub starts_servers: bool,
}

impl Surroundings {
    /// The whole path that a person means: `~` is the home folder, and what has no root begins where the program was started.
    pub(super) fn whole(&self, written: &Path) -> PathBuf {
        let base = match written.strip_prefix("~") {
            Ok(rest) => self.home.as_ref().map(|it| it.join(rest)),
            Err(_) => self.started_in.as_ref().map(|it| it.join(written)),
        };
        // Without `.` in it; what `..` means is the disk's to say.
        base.map_or_else(|| written.to_owned(), |it| it.components().collect())
    }
}

impl Default for Surroundings {
    /// Nothing around, and no browser.
    fn default() -> Self {
        Self {
            home: None,
            config: None,
            downloads: None,
            project: None,
            started_in: None,
            fixtures: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_where_a_person_means() {
        let around = Surroundings {
            home: Some("/home/ada".into()),
            started_in: Some("/home/ada/view".into()),
            ..Surroundings::default()
        };
        let whole = |text: &str| around.whole(Path::new(text)).display().to_string();
        assert_eq!(whole("/a/b.json"), "/a/b.json");
        assert_eq!(whole("./dist"), "/home/ada/view/dist");
        assert_eq!(whole("fixtures/./one.json"), "/home/ada/view/fixtures/one.json");
        assert_eq!(whole("~/one.json"), "/home/ada/one.json");
        assert_eq!(whole("~"), "/home/ada");
        assert_eq!(Surroundings::default().whole(Path::new("dist")), Path::new("dist"));
    }
}
