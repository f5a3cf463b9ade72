//! `usher servers add`, `remove`, `enable`, `disable`, `test`, `pin`, `sign-in` and `sign-out`.

use std::fmt::Write;

use clap::Args;
use usher_engine::selection::Consumers;
use usher_host::conversation::{StoredLaunch, StoredPair, StoredSpec, Trial};
use usher_protocol::Revision;

use super::super::{
    Global,
    given::{address, headers},
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
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// A header whose value is a secret: it is read from the variable of that name, or from standard input
    #[arg(long, value_name = "NAME", requires = "url")]
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
            let command = if program == "usher" { own_program() } else { program.clone() };
            StoredLaunch::Stdio { command, args: args.to_vec(), env, cwd: options.cwd.clone() }
        }
    };
    let spec = StoredSpec { pinned: options.revision, ..StoredSpec::of(launch) };
    let session = Session::open_quietly(Place::Folder(global.data.clone())).await?;
    let added = async {
        let id = session.host.save_server(None, options.name.trim().to_owned(), spec).await?;
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

/// The values of secrets: never on the command line, where every program of this computer can read them.
fn secrets(names: &[String]) -> Result<Vec<StoredPair>, Failure> {
    let read = |name: &String| {
        if let Ok(value) = std::env::var(name) {
            return Ok(StoredPair::secret(name, value));
        }
        err(&format!("Value of {}: ", clean_line(name)));
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        let value = line.trim_end_matches(['\r', '\n']);
        if read.is_err() || value.is_empty() {
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
        text => Some(text.parse::<Revision>().map_err(|error| {
            let known: Vec<&str> = Revision::ALL.iter().map(|it| it.as_str()).collect();
            Failure::usage(format!("{error}. It speaks {}; `auto` negotiates.", known.join(", ")))
        })?),
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
    let mut session = Session::open(place, Consumers::TERMINAL, Approval::Ask).await?;
    let ready = match session.find(name) {
        Ok(found) if found.enabled => session.ready(&found.id).await,
        Ok(found) => Err(Failure::new(Exit::Unreachable, format!("{} is turned off.", found.name))),
        Err(failure) => Err(failure),
    };
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
