//! Where commands are found.
//!
//! An application that a desktop starts has a poor `PATH`: tools of nvm, fnm, mise and Homebrew are missing. A login shell knows them,
//! so it is asked once. Deliberately absent: installing anything.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, sync::OnceCell};

use super::{
    process::{detach, is_program},
    spec::PathSource,
};

/// How long a login shell may take; some wait for a key or the network.
const SHELL_TIMEOUT: Duration = Duration::from_secs(3);

/// Folders in the order in which they are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchPath(Vec<PathBuf>);

impl SearchPath {
    pub(super) fn from_text(text: impl AsRef<OsStr>) -> Self {
        let folders = env::split_paths(text.as_ref()).filter(|it| !it.as_os_str().is_empty());
        let mut unique = Vec::new();
        for folder in folders {
            if !unique.contains(&folder) {
                unique.push(folder);
            }
        }
        Self(unique)
    }

    /// The path that a source names.
    pub(super) async fn of(source: &PathSource) -> Self {
        let inherited = || Self::from_text(env::var_os("PATH").unwrap_or_default());
        match source {
            PathSource::Given(path) => Self::from_text(path),
            PathSource::Inherited => inherited(),
            PathSource::LoginShell => {
                static LOGIN: OnceCell<Option<OsString>> = OnceCell::const_new();
                let shell = env::var_os("SHELL").filter(|_| cfg!(unix));
                let login =
                    LOGIN.get_or_init(|| async { login_path(shell?.as_ref(), SHELL_TIMEOUT).await }).await;
                match login {
                    Some(login) => Self::from_text(login).then(inherited()),
                    None => inherited().then(Self::usual()),
                }
            }
        }
    }

    fn then(mut self, other: Self) -> Self {
        for folder in other.0 {
            if !self.0.contains(&folder) {
                self.0.push(folder);
            }
        }
        self
    }

    /// Where tools are when no shell could be asked.
    fn usual() -> Self {
        let mut folders: Vec<PathBuf> = if cfg!(unix) {
            ["/opt/homebrew/bin", "/usr/local/bin"].map(PathBuf::from).into()
        } else {
            Vec::new()
        };
        folders.extend(dirs::home_dir().map(|it| it.join(".local").join("bin")));
        Self(folders)
    }

    pub(super) fn folders(&self) -> Vec<String> {
        self.0.iter().map(|it| it.display().to_string()).collect()
    }

    /// As a variable, with a folder put first.
    pub(super) fn with_first(&self, first: Option<&Path>) -> OsString {
        let rest = self.0.iter().map(PathBuf::as_path).filter(|it| Some(*it) != first);
        // Only a folder with a separator in its name cannot be joined, and none came from splitting.
        env::join_paths(first.into_iter().chain(rest))
            .or_else(|_| env::join_paths(&self.0))
            .unwrap_or_default()
    }
}

/// Finds a program: a name on the path, or a path from the folder where it runs.
pub(super) fn find_command(command: &str, path: &SearchPath, cwd: Option<&Path>) -> Option<PathBuf> {
    let expanded = match command.strip_prefix("~/") {
        Some(rest) => dirs::home_dir()?.join(rest),
        None => PathBuf::from(command),
    };
    if expanded.components().count() > 1 || expanded.is_absolute() {
        let file = if expanded.is_relative() {
            cwd.map_or(expanded.clone(), |it| it.join(&expanded))
        } else {
            expanded
        };
        return with_extension(&file);
    }
    path.0.iter().find_map(|folder| with_extension(&folder.join(&expanded)))
}

#[cfg(not(windows))]
fn with_extension(file: &Path) -> Option<PathBuf> {
    is_program(file).then(|| file.to_owned())
}

/// `npx` is `npx.cmd` here, which only a search by extension finds.
#[cfg(windows)]
fn with_extension(file: &Path) -> Option<PathBuf> {
    if file.extension().is_some() && is_program(file) {
        return Some(file.to_owned());
    }
    let known = env::var("PATHEXT").unwrap_or_else(|_| ".EXE;.CMD;.BAT;.COM".to_owned());
    known.split(';').find_map(|extension| {
        let mut name = file.as_os_str().to_owned();
        name.push(extension);
        let file = PathBuf::from(name);
        is_program(&file).then_some(file)
    })
}

const MARK: &str = "__usher_path__";

/// Asks a shell for the path of its login sessions. `None` if it does not say.
async fn login_path(shell: &OsStr, timeout: Duration) -> Option<OsString> {
    // An interactive shell that has a terminal may stop to ask for it; one without reads the files in which tools write their paths.
    use std::io::IsTerminal;
    let kinds: &[&[&str]] =
        if std::io::stdin().is_terminal() { &[&["-l"]] } else { &[&["-l", "-i"], &["-l"]] };
    for kind in kinds {
        let asked = tokio::time::timeout(timeout, ask(shell, kind)).await;
        if let Ok(Some(path)) = asked {
            return Some(path);
        }
    }
    None
}

async fn ask(shell: &OsStr, kind: &[&str]) -> Option<OsString> {
    // The same in bash, zsh and fish, whose PATH is a list: the environment is what programs see.
    let script = format!("echo {MARK}; command env; echo {MARK}");
    let mut command = Command::new(shell);
    command.args(kind).arg("-c").arg(script);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    detach(&mut command);
    let output = command.output().await.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // What the user's own files print comes before and after.
    let told = text.split(MARK).nth(1)?;
    let path = told.lines().find_map(|it| it.strip_prefix("PATH="))?;
    (!path.is_empty()).then(|| OsString::from(path))
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[expect(clippy::unwrap_used, reason = "of a test")]
    fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn commands_are_found_on_the_path_and_beside() {
        let folder = tempfile::tempdir().unwrap();
        let tool = program(folder.path(), "tool", "#!/bin/sh\n");
        fs::write(folder.path().join("text"), "not a program").unwrap();
        let path = SearchPath(vec!["/nowhere".into(), folder.path().to_owned()]);
        assert_eq!(find_command("tool", &path, None), Some(tool.clone()));
        assert_eq!(find_command("text", &path, None), None);
        assert_eq!(
            find_command("./tool", &SearchPath(vec![]), Some(folder.path())),
            Some(folder.path().join("./tool"))
        );
        assert_eq!(find_command(tool.to_str().unwrap(), &SearchPath(vec![]), None), Some(tool));
        assert_eq!(find_command("", &path, None), None);
    }

    #[test]
    fn the_command_s_folder_comes_first_once() {
        let path = SearchPath::from_text("/a:/b::/a");
        assert_eq!(path.folders(), ["/a", "/b"]);
        assert_eq!(path.with_first(Some(Path::new("/b"))), "/b:/a");
        assert_eq!(path.with_first(None), "/a:/b");
    }

    /// A file that is executed, written by another process. While this one holds it open for writing, a child that another test starts at
    /// that moment inherits the handle until it is another program, and until then the system refuses to execute the file (`ETXTBSY`).
    #[expect(clippy::unwrap_used, reason = "of a test")]
    fn shell_that_runs(folder: &Path, text: &str) -> PathBuf {
        let file = folder.join("shell");
        let written = std::process::Command::new("sh")
            .args(["-c", r#"printf %s "$2" > "$1" && chmod 755 "$1""#, "sh"])
            .args([file.as_os_str(), OsStr::new(text)])
            .status();
        assert!(written.unwrap().success());
        file
    }

    #[tokio::test]
    async fn a_login_shell_is_asked_between_marks() {
        let folder = tempfile::tempdir().unwrap();
        let shell = shell_that_runs(
            folder.path(),
            "#!/bin/sh\necho Welcome PATH=/wrong\nPATH=/login/bin:$PATH\nexport PATH\nfor last; do :; done\neval \"$last\"\necho bye\n",
        );
        let path = login_path(shell.as_os_str(), Duration::from_secs(30)).await.unwrap();
        assert!(path.to_str().unwrap().starts_with("/login/bin:"), "{path:?}");
    }

    #[tokio::test]
    async fn a_shell_that_hangs_or_is_missing_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let shell = shell_that_runs(folder.path(), "#!/bin/sh\nexec sleep 600\n");
        assert_eq!(login_path(shell.as_os_str(), Duration::from_millis(50)).await, None);
        assert_eq!(login_path(OsStr::new("/no/such/shell"), Duration::from_secs(30)).await, None);
    }
}
