//! `usher servers import` and `export`: lists of other programs, reviewed before anything of them is kept.

use std::{collections::BTreeMap, fmt::Write, io::IsTerminal, path::PathBuf};

use clap::Args;
use serde_json::json;
use usher_host::conversation::{KnownList, ListChoice, ListReview, ListSource, ReviewedServer, StoredLaunch};

use super::super::{
    Global,
    session::{Exit, Failure, Place, Session, can_ask},
    terminal::{Paint, Tone, WIDTH, clean_line, err, out, wrap},
};

/// Take servers over from the list of another program
///
/// Without a file or --from it shows the lists that are on this computer. What would run is shown before anything is kept; nothing is
/// started by this.
#[derive(Debug, Args)]
#[command(
    override_usage = "usher servers import\n       usher servers import [OPTIONS] FILE [NAME]...\n       usher servers import [OPTIONS] --from PROGRAM [NAME]..."
)]
pub(super) struct Import {
    /// The file ('-' for standard input), then the servers of it; all of them if none is named
    #[arg(value_name = "FILE")]
    names: Vec<String>,
    /// The list of this program: claude-desktop, claude-code, cursor, vs-code or windsurf
    #[arg(long, value_name = "PROGRAM")]
    from: Option<String>,
    /// Only show what would be taken over
    #[arg(long)]
    dry_run: bool,
    /// Take over every server that has a free name, even those that the list has turned off
    #[arg(long)]
    all: bool,
    /// Keep the servers turned off
    #[arg(long)]
    off: bool,
    /// What an input of the list is; may be given more than once
    #[arg(long, value_name = "ID=VALUE")]
    input: Vec<String>,
    /// An input that is a secret, read from a variable; may be given more than once
    #[arg(long, value_name = "ID=VARIABLE")]
    input_env: Vec<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Reviews a list, asks, and keeps what was chosen.
pub(super) async fn import(options: Import, global: &Global) -> Result<Exit, Failure> {
    let inputs = inputs(&options)?;
    let session = Session::open_quietly(Place::Folder(global.data.clone())).await?;
    let done = carry_out(&session, &options, &inputs).await;
    session.close().await;
    done
}

async fn carry_out(
    session: &Session,
    options: &Import,
    inputs: &BTreeMap<String, String>,
) -> Result<Exit, Failure> {
    let mut names = options.names.as_slice();
    let source = match (&options.from, names) {
        (Some(program), _) => ListSource::File(find(&session.host.known_lists().await, program)?),
        (None, []) => {
            out(&known(&session.host.known_lists().await));
            return Ok(Exit::Fine);
        }
        (None, [file, rest @ ..]) => {
            names = rest;
            if file == "-" {
                let text = std::io::read_to_string(std::io::stdin());
                let unread = |error| Failure::usage(format!("Standard input could not be read: {error}."));
                ListSource::Text(text.map_err(unread)?)
            } else {
                ListSource::File(file.into())
            }
        }
    };
    let unreadable = |error: usher_host::conversation::HostError| Failure::usage(error.to_string());
    let review = session.host.review_list(&source).await.map_err(unreadable)?;
    out(&text(&review, inputs, Paint::of_stdout(false)));
    let chosen = choose(&review, names, options)?;
    if chosen.is_empty() {
        out("There is nothing to take over.\n");
        return Ok(Exit::Fine);
    }
    let list: Vec<&str> = chosen.iter().map(|it| it.name.as_str()).collect();
    let list = clean_line(&list.join(", "));
    if options.dry_run {
        out(&format!("Would be taken over: {list}. Nothing was kept.\n"));
        return Ok(Exit::Fine);
    }
    if !options.yes && !agreed(&list).await? {
        out("Nothing was kept.\n");
        return Ok(Exit::Fine);
    }
    session.host.import_servers(&source, &review.digest, &chosen, inputs).await.map_err(unreadable)?;
    out(&format!("Taken over: {list}.\n"));
    let kept = session.host.secrets_kept();
    if kept.in_keyring + kept.in_file > 0 {
        err(&super::secrets(&kept));
    }
    Ok(Exit::Fine)
}

async fn agreed(list: &str) -> Result<bool, Failure> {
    if !can_ask() || !std::io::stdout().is_terminal() {
        return Err(Failure::usage("Nobody can be asked here. Give --yes to take them over, or --dry-run."));
    }
    err(&format!("Take over {list}? [y]es, [N]o: "));
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = read.await.ok().and_then(Result::ok).unwrap_or_default();
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn inputs(options: &Import) -> Result<BTreeMap<String, String>, Failure> {
    let split = |it: &String, option: &str| {
        let split = it.split_once('=').map(|it| (it.0.to_owned(), it.1.to_owned()));
        split.ok_or_else(|| Failure::usage(format!("{option} {it:?} has no '='.")))
    };
    let mut all = BTreeMap::new();
    for it in &options.input {
        all.extend([split(it, "--input")?]);
    }
    for it in &options.input_env {
        let (id, variable) = split(it, "--input-env")?;
        let value = std::env::var(&variable)
            .map_err(|_| Failure::usage(format!("The variable {variable} is not set.")))?;
        all.insert(id, value);
    }
    Ok(all)
}

/// The servers that were named, or all that can be taken over.
fn choose(review: &ListReview, names: &[String], options: &Import) -> Result<Vec<ListChoice>, Failure> {
    if let Some(unknown) = names.iter().find(|name| !review.servers.iter().any(|it| it.name == **name)) {
        return Err(Failure::usage(format!("The list names no server {unknown:?}.")));
    }
    let is_chosen = |it: &&ReviewedServer| {
        if names.is_empty() { !it.taken && (options.all || it.enabled) } else { names.contains(&it.name) }
    };
    let choice = |it: &ReviewedServer| ListChoice {
        key: it.name.clone(),
        name: it.name.clone(),
        enabled: !options.off && it.enabled,
    };
    Ok(review.servers.iter().filter(is_chosen).map(choice).collect())
}

fn find(known: &[KnownList], program: &str) -> Result<PathBuf, Failure> {
    let word = |it: &KnownList| it.program.name().to_ascii_lowercase().replace(' ', "-");
    let found = known.iter().find(|it| word(it) == program.to_ascii_lowercase());
    found.map(|it| it.path.clone()).ok_or_else(|| {
        let there: Vec<String> = known.iter().map(word).collect();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        Failure::usage(format!("There is no list of {program:?} on this computer. There are: {there}."))
    })
}

fn known(lists: &[KnownList]) -> String {
    if lists.is_empty() {
        return "No list of servers of another program was found. Give a file: `usher servers import FILE`.\n"
            .to_owned();
    }
    let mut text = String::new();
    for list in lists {
        let what = match (&list.problem, list.servers) {
            (Some(why), _) => format!("cannot be read: {}", clean_line(why)),
            (None, 1) => "1 server".to_owned(),
            (None, many) => format!("{many} servers"),
        };
        let path = clean_line(&list.path.display().to_string());
        let _ = writeln!(text, "{}  {what}\n  {path}", list.program.name());
    }
    text
}

/// What would run, with nothing of it left out but the values of secrets.
fn text(review: &ListReview, inputs: &BTreeMap<String, String>, paint: Paint) -> String {
    let mut text = String::new();
    for server in &review.servers {
        let name = paint.tone(Tone::Strong, &clean_line(&server.name));
        let state = if server.enabled { "" } else { "  (turned off in the list)" };
        let _ = writeln!(text, "{name}{state}");
        for line in wrap(&clean_line(&server.runs), WIDTH - 4) {
            let _ = writeln!(text, "    {line}");
        }
        for pair in server.launch.pairs() {
            let value = match &pair.value {
                Some(value) if !pair.secret => clean_line(value),
                Some(_) | None => "[secret]".to_owned(),
            };
            let _ = writeln!(text, "    with {}={value}", clean_line(&pair.name));
        }
        if let StoredLaunch::Stdio { cwd: Some(cwd), .. } = &server.launch {
            let _ = writeln!(text, "    in {}", clean_line(cwd));
        }
        let mut say = |line: String| {
            for line in wrap(&clean_line(&line), WIDTH - 2) {
                let _ = writeln!(text, "  {}", paint.tone(Tone::Wrong, &line));
            }
        };
        if server.taken {
            say("a server of this name is here already; it is not taken over".to_owned());
        }
        server.remarks.iter().for_each(|it| say(it.clone()));
        if !server.missing.is_empty() {
            say(format!("not set here: {}", server.missing.join(", ")));
        }
        for (input, used_by) in &review.inputs {
            if used_by.contains(&server.name) && input.default.is_none() && !inputs.contains_key(&input.id) {
                say(format!("needs --input {0}=… or --input-env {0}=…: {1}", input.id, input.description));
            }
        }
    }
    for (name, why) in &review.skipped {
        let _ = writeln!(text, "{}  cannot be used: {}", clean_line(name), clean_line(why));
    }
    text
}

/// Print the servers as a list for other programs, without secrets
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Print JSON: the list, and what was replaced in it
    #[arg(long)]
    json: bool,
}

/// Prints the list; what was replaced in it goes to standard error.
pub(super) async fn export(options: Export, global: &Global) -> Result<Exit, Failure> {
    let session = Session::open_quietly(Place::Folder(global.data.clone())).await?;
    let (text, remarks) = session.host.export_servers();
    session.close().await;
    if options.json {
        out(&format!("{:#}\n", json!({"text": text, "remarks": remarks})));
        return Ok(Exit::Fine);
    }
    out(&text);
    for remark in remarks {
        err(&format!("{}\n", clean_line(&remark)));
    }
    Ok(Exit::Fine)
}
