//! `usher servers add`, `remove`, `enable`, `disable`, `test`, `pin`, `sign-in` and `sign-out`.

use std::{fmt::Write, path::Path};

use clap::Args;
use usher_engine::selection::Consumers;
use usher_host::{
    connection::file_of,
    conversation::{StoredLaunch, StoredPair, StoredSpec, Trial},
};
use usher_protocol::Revision;

use super::super::{
    Global,
    given::{address, headers},
    hidden::read_line,
    session::{Approval, Exit, Failure, Place, Session, own_program},
    terminal::{Paint, Tone, WIDTH, clean, clean_line, err, out, wrap},
};

/// Add a server
#[derive(Debug, Args)]
#[command(
    override_usage = "usher servers add [OPTIONS] NAME --url URL\n       usher servers add [OPTIONS] NAME -- CMD [ARG]..."
)]
pub(super) struct Add {
    /// Its name
    name: String,
    /// The address of a server that is spoken to over HTTP
    #[arg(long, value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// A header for the address, such as 'X-Team: a'; may be given more than once
    #[arg(long, value_name = "NAME: VALUE", requires = "url", conflicts_with = "command")]
    header: Vec<String>,
    /// A header whose value is a secret: it is read from the variable of that name, or from standard input
    #[arg(long, value_name = "NAME", requires = "url", conflicts_with = "command")]
    secret_header: Vec<String>,
    /// A variable for the command; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// A variable whose value is a secret: it is read from the variable of that name, or from standard input
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    secret_env: Vec<String>,
    /// The folder in which the command runs
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,
    /// The one revision that is spoken; otherwise it is negotiated
    #[arg(long, value_name = "REVISION")]
    revision: Option<Revision>,
    /// Add it turned off
    #[arg(long)]
    off: bool,
    /// The command
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Adds a server. It is not started by this.
pub(super) async fn add(options: Add, global: &Global) -> Result<Exit, Failure> {
    let launch = match &options.url {
        Some(url) => {
            let mut headers = headers(&options.header)?;
            headers.extend(secrets(&options.secret_header)?);
            StoredLaunch::Http { url: address(url)?, headers }
        }
        None => {
            let [program, args @ ..] = options.command.as_slice() else {
                return Err(Failure::usage("After -- the command of the server is expected."));
            };
            let variable = |it: &String| {
                let split = it.split_once('=').filter(|it| !it.0.trim().is_empty());
                let split =
                    split.ok_or_else(|| Failure::usage(format!("--env {it:?} is not NAME=VALUE.")))?;
                Ok(StoredPair::plain(split.0.trim(), split.1))
            };
            let mut env = options.env.iter().map(variable).collect::<Result<Vec<_>, Failure>>()?;
            env.extend(secrets(&options.secret_env)?);
            let cwd = options.cwd.as_deref().map(|it| wherever(it, Path::is_dir));
            let command = command(program, cwd.as_deref())?;
            let cwd = cwd.or_else(|| here(args));
            StoredLaunch::Stdio { command, args: args.to_vec(), env, cwd }
        }
    };
    let spec = StoredSpec { pinned: options.revision, ..StoredSpec::of(launch) };
    let session = Session::open_quietly(Place::Folder(global.data.clone())).await?;
    let name = options.name.trim();
    let added = async {
        if session.host.server_statuses().iter().any(|it| it.name == name) {
            return Err(Failure::usage(format!(
                "There is a server named {name} already. Give this one another name, or remove that one first."
            )));
        }
        let id = session.host.save_server(None, name.to_owned(), spec).await?;
        if options.off {
            session.host.enable_server(&id, false).await?;
        }
        Ok(())
    };
    let added: Result<(), Failure> = added.await;
    let kept = session.host.secrets_kept();
    session.close().await;
    added?;
    out(&format!(
        "Added {}. Try it with `usher tools {}`.\n",
        clean_line(&options.name),
        shell(&options.name)
    ));
    if kept.in_keyring + kept.in_file > 0 {
        err(&super::secrets(&kept));
    }
    Ok(Exit::Fine)
}

/// The program as it is kept: a file that is there by its whole path, because the server is started from any folder.
fn command(program: &str, cwd: Option<&str>) -> Result<String, Failure> {
    if program.trim().is_empty() {
        return Err(Failure::usage(
            "After -- the command of the server is expected, and its first word is empty.",
        ));
    }
    if program == "usher" {
        return Ok(own_program());
    }
    let in_folder = |it: &str| file_of(it, cwd.map(Path::new));
    // What stands for something else is known only when the server starts.
    if program.contains("${") {
        return Ok(program.to_owned());
    }
    if let Some(file) = in_folder(program).filter(|it| it.is_file()) {
        return Ok(wherever(&file.to_string_lossy(), Path::is_file));
    }
    let on_path = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|it| it.join(program).is_file())
    };
    if program.contains(char::is_whitespace) && !on_path() {
        return Err(Failure::usage(format!(
            "{program:?} is one word, and there is no such program. Write the words of a command apart: -- {}",
            clean_line(program)
        )));
    }
    Ok(program.to_owned())
}

/// This folder, if one of the arguments is a file or folder in it, written as it is seen from here: the server is started from
/// any folder, and would not find it.
fn here(args: &[String]) -> Option<String> {
    let is_near = |it: &String| !it.starts_with('-') && Path::new(it).is_relative() && Path::new(it).exists();
    let near = args.iter().find(|it| is_near(it))?;
    let folder = std::env::current_dir().ok()?.to_string_lossy().into_owned();
    err(&format!(
        "It will run in {}, where {} is; --cwd chooses another folder.\n",
        clean_line(&folder),
        clean_line(near)
    ));
    Some(folder)
}

/// A path as it is from any folder, if it leads to what it should; otherwise as it was written.
fn wherever(path: &str, is_there: impl Fn(&Path) -> bool) -> String {
    let absolute = std::path::absolute(path).ok().filter(|it| is_there(it));
    absolute.map_or_else(|| path.to_owned(), |it| it.to_string_lossy().into_owned())
}

/// The values of secrets: never on the command line, where every program of this computer can read them.
fn secrets(names: &[String]) -> Result<Vec<StoredPair>, Failure> {
    let read = |name: &String| {
        if let Ok(value) = std::env::var(name) {
            return Ok(StoredPair::secret(name, value));
        }
        let line = read_line(&format!("Value of {}: ", clean_line(name)), true).unwrap_or_default();
        let value = line.trim_end_matches(['\r', '\n']);
        if value.is_empty() {
            return Err(Failure::usage(format!(
                "There is no value for {name}: set the variable {name}, or write the value to standard input."
            )));
        }
        Ok(StoredPair::secret(name, value))
    };
    names.iter().map(read).collect()
}

/// A word as a shell reads it.
fn shell(word: &str) -> String {
    if word.chars().all(|it| it.is_alphanumeric() || "-_./".contains(it)) {
        clean_line(word)
    } else {
        format!("'{}'", clean_line(word).replace('\'', "'\\''"))
    }
}

/// Does something with one configured server, and starts none.
async fn with<T>(
    name: &str,
    global: &Global,
    act: impl AsyncFnOnce(&Session, &str) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let session = Session::open_quietly(Place::Folder(global.data.clone())).await?;
    let done = match session.find(name) {
        Ok(found) => act(&session, &found.id).await,
        Err(failure) => Err(failure),
    };
    session.close().await;
    done
}

/// Removes a server.
pub(super) async fn remove(name: &str, global: &Global) -> Result<Exit, Failure> {
    with(name, global, async |session, id| Ok(session.host.remove_server(id).await?)).await?;
    out(&format!("Removed {}.\n", clean_line(name)));
    Ok(Exit::Fine)
}

/// Turns a server on or off.
pub(super) async fn enable(name: &str, enabled: bool, global: &Global) -> Result<Exit, Failure> {
    with(name, global, async |session, id| Ok(session.host.enable_server(id, enabled).await?)).await?;
    let word = if enabled { "on" } else { "off" };
    out(&format!("{} is turned {word}.\n", clean_line(name)));
    Ok(Exit::Fine)
}

/// Speaks only one revision with a server, or negotiates again.
pub(super) async fn pin(name: &str, revision: &str, global: &Global) -> Result<Exit, Failure> {
    let revision: Option<Revision> = match revision {
        "auto" => None,
        text => Some(
            text.parse::<Revision>()
                .map_err(|error| Failure::usage(format!("{error}; `auto` negotiates.")))?,
        ),
    };
    with(name, global, async |session, id| Ok(session.host.pin_revision(id, revision).await?)).await?;
    let name = clean_line(name);
    out(&match revision {
        Some(revision) => format!("Only {revision} is spoken with {name}.\n"),
        None => format!("The revision is negotiated with {name}.\n"),
    });
    Ok(Exit::Fine)
}

/// Tries a server apart from any that runs.
pub(super) async fn test(name: &str, global: &Global) -> Result<Exit, Failure> {
    let trial =
        with(name, global, async |session, id| Ok(session.host.test_stored_server(id).await?)).await?;
    out(&text(&trial, Paint::of_stdout(false)));
    Ok(if trial.ok { Exit::Fine } else { Exit::Unreachable })
}

fn text(trial: &Trial, paint: Paint) -> String {
    let mut text = String::new();
    for step in &trial.steps {
        for line in wrap(&clean(step), WIDTH - 2) {
            let _ = writeln!(text, "  {}", paint.tone(Tone::Faint, &line));
        }
    }
    for line in &trial.stderr_tail {
        let _ = writeln!(text, "  stderr: {}", clean_line(line));
    }
    let tone = if trial.ok { Tone::Strong } else { Tone::Wrong };
    let todo = if trial.ok { "" } else { trial.todo.as_str() };
    for line in wrap(&clean(&format!("{} {todo}", trial.what)), WIDTH) {
        let _ = writeln!(text, "{}", paint.tone(tone, line.trim_end()));
    }
    text
}

/// Signs in at a server: connects, and asks whether the browser may be opened.
pub(super) async fn sign_in(name: &str, global: &Global) -> Result<Exit, Failure> {
    let place = Place::Folder(global.data.clone());
    let (mut session, id) = Session::open_for(name, place, Consumers::TERMINAL, Approval::Ask).await?;
    let ready = session.ready(&id).await;
    session.close().await;
    let at = ready?.sign_in.and_then(|it| it.signed_in_at);
    let name = clean_line(name);
    out(&match at {
        Some(issuer) => format!("Signed in at {} for {name}.\n", clean_line(&issuer)),
        None => format!("{name} answers without a sign-in.\n"),
    });
    Ok(Exit::Fine)
}

/// Forgets what a sign-in brought.
pub(super) async fn sign_out(name: &str, global: &Global) -> Result<Exit, Failure> {
    with(name, global, async |session, id| Ok(session.host.sign_out(id).await?)).await?;
    out(&format!("Signed out of {}.\n", clean_line(name)));
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_there_is_kept_by_its_whole_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("my bin")).unwrap();
        std::fs::write(folder.path().join("my bin/notes"), "").unwrap();
        let cwd = folder.path().to_str();
        let kept = |program: &str| command(program, cwd).ok();
        let whole = folder.path().join("my bin/notes").to_str().map(str::to_owned);
        assert_eq!(kept("./my bin/notes"), whole);
        assert_eq!(kept("my bin/notes"), whole);
        // A name is looked up when the server starts, and a file may come later.
        for program in ["npx", "./later", "${workspaceFolder}/my server"] {
            assert_eq!(kept(program).as_deref(), Some(program));
        }
        for program in ["", " ", "npx -y foo", "npx -y @scope/foo"] {
            assert_eq!(kept(program), None, "{program:?}");
        }
    }
}
