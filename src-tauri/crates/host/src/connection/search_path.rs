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

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
    sync::OnceCell,
};

use super::{process::is_program, process_tree::ProcessTree, spec::PathSource};

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
    match file_of(command, cwd) {
        Some(file) => with_extension(&file),
        None => path.0.iter().find_map(|folder| with_extension(&folder.join(command))),
    }
}

/// The file that a command names by its path. `None` for a bare name, which is looked up on the search path.
pub fn file_of(command: &str, cwd: Option<&Path>) -> Option<PathBuf> {
    let expanded = match command.strip_prefix("~/") {
        Some(rest) => dirs::home_dir()?.join(rest),
        None => PathBuf::from(command),
    };
    if expanded.components().count() <= 1 && !expanded.is_absolute() {
        return None;
    }
    Some(match cwd {
        Some(folder) if expanded.is_relative() => folder.join(expanded),
        Some(_) | None => expanded,
    })
}

#[cfg(not(windows))]
fn with_extension(file: &Path) -> Option<PathBuf> {
    is_program(file).then(|| file.to_owned())
}

/// `npx` is `npx.cmd` here, which only a search by extension finds.
#[cfg(windows)]
fn with_extension(file: &Path) -> Option<PathBuf> {
    let known = env::var_os("PATHEXT").unwrap_or_else(|| ".COM;.EXE;.BAT;.CMD".into());
    spellings(file, &known.to_string_lossy()).into_iter().find(|it| is_program(it))
}

/// The files that a command may mean where programs are known by extensions such as `.EXE;.CMD`. A file without one is not run there: beside
/// `npx.cmd` lies an `npx` for other systems.
#[cfg(any(windows, test))]
fn spellings(file: &Path, known: &str) -> Vec<PathBuf> {
    let with = |extension: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    };
    let extensions = known.split(';').map(str::trim).filter(|it| !it.is_empty());
    let as_given = file.extension().is_some().then(|| file.to_owned());
    as_given.into_iter().chain(extensions.map(with)).collect()
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
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // When this takes too long and is dropped, what the user's own files started and hangs is ended, too.
    let mut tree = ProcessTree::start(command).ok()?;
    // What these files print comes before and after. Nobody waits for the end of the output: an agent that they started may hold it open.
    let mut lines = BufReader::new(tree.streams().stdout?).split(b'\n');
    let (mut begun, mut path) = (false, None);
    while let Some(line) = lines.next_segment().await.ok()? {
        match (begun, line.ends_with(MARK.as_bytes())) {
            (false, true) => begun = true,
            (true, true) => break,
            (true, false) => path = path.or_else(|| line.strip_prefix(b"PATH=").map(os_string)),
            (false, false) => {}
        }
    }
    tree.forget();
    path.filter(|it| !it.is_empty())
}

/// A variable's bytes; on Unix a path need not be UTF-8.
fn os_string(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    {
        <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).to_owned()
    }
    #[cfg(not(unix))]
    {
        OsString::from(String::from_utf8_lossy(bytes).into_owned())
    }
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

    #[test]
    fn odd_folders_are_folders() {
        let path = SearchPath::from_text("/a b/ä:/😅:./here:/a b/ä/:::'q\"");
        // The same folder with a separator at its end is the same folder.
        assert_eq!(path.folders(), ["/a b/ä", "/😅", "./here", "'q\""]);
        assert_eq!(path.with_first(Some(Path::new("/x y"))), "/x y:/a b/ä:/😅:./here:'q\"");
        // A folder with a separator in its name cannot be told to a process; the others can.
        assert_eq!(SearchPath::from_text("/a").with_first(Some(Path::new("/b:c"))), "/a");
    }

    #[test]
    fn where_programs_have_extensions_a_name_means_several_files() {
        let names = |command: &str, known: &str| {
            let all = spellings(Path::new(command), known);
            all.iter().map(|it| it.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("npx", ".COM;.EXE;.BAT;.CMD"), ["npx.COM", "npx.EXE", "npx.BAT", "npx.CMD"]);
        assert_eq!(names("npx.cmd", ";.EXE; ;"), ["npx.cmd", "npx.cmd.EXE"]);
        assert_eq!(names("C:/a b/x.1", ".EXE"), ["C:/a b/x.1", "C:/a b/x.1.EXE"]);
        assert!(names("npx", "").is_empty());
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

    /// The shells that are there, each with files of a user in a folder of its own.
    #[tokio::test]
    async fn real_shells_say_what_a_user_s_files_say() {
        let own = SearchPath::from_text(env::var_os("PATH").unwrap_or_default());
        let files = [
            ("sh", ".profile"),
            ("bash", ".bash_profile"),
            ("zsh", ".zprofile"),
            ("fish", ".config/fish/config.fish"),
        ];
        let mut asked = 0;
        for (name, file) in files {
            let Some(shell) = find_command(name, &own, None) else { continue };
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let set = if name == "fish" {
                "set -gx PATH '/of a user/bin' $PATH"
            } else {
                "export PATH=\"/of a user/bin:$PATH\""
            };
            fs::write(file, format!("echo Welcome\n{set}\n")).unwrap();
            let text =
                format!("#!/bin/sh\nHOME='{}' exec '{}' \"$@\"\n", folder.path().display(), shell.display());
            let shell = shell_that_runs(folder.path(), &text);
            // Some kinds of `sh` read no file of the user when they are not interactive.
            let path = login_path(shell.as_os_str(), Duration::from_secs(30)).await.expect(name);
            assert!(path.to_str().unwrap().starts_with("/of a user/bin:"), "{name}: {path:?}");
            asked += 1;
        }
        assert!(asked > 0, "no shell is there");
    }

    #[tokio::test]
    async fn a_shell_that_greets_like_fish_and_leaves_something_behind_is_not_waited_for() {
        // fish greets, and marks its prompt in what it prints; a user's file started an agent that holds the output open.
        let folder = tempfile::tempdir().unwrap();
        let shell = shell_that_runs(
            folder.path(),
            "#!/bin/sh\nprintf 'Welcome to fish\\nPATH=/wrong\\n\\033]133;A\\007'\n(sleep 60) &\nPATH='/login/b in:/usr/bin'\nexport PATH\nfor last; do :; done\neval \"$last\"\nwait\n",
        );
        let path = login_path(shell.as_os_str(), Duration::from_secs(30)).await;
        assert_eq!(path, Some("/login/b in:/usr/bin".into()));
    }

    #[tokio::test]
    async fn a_shell_that_hangs_or_is_missing_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let shell = shell_that_runs(folder.path(), "#!/bin/sh\nexec sleep 600\n");
        assert_eq!(login_path(shell.as_os_str(), Duration::from_millis(50)).await, None);
        assert_eq!(login_path(OsStr::new("/no/such/shell"), Duration::from_secs(30)).await, None);
    }
}
