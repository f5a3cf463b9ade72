//! `usher servers import` and `export`: lists of other programs, reviewed before anything of them is kept.

use std::{collections::BTreeMap, fmt::Write, io::IsTerminal, path::PathBuf};

use clap::Args;
use serde_json::json;
use usher_host::{
    configuration::{Input, Program},
    conversation::{KnownList, ListChoice, ListReview, ListSource, ReviewedServer, StoredLaunch},
};

use super::super::{
    Global,
    hidden::{Shown, read_line},
    session::{Exit, Failure, Place, Session, can_ask},
    terminal::{Paint, Tone, WIDTH, clean_line, err, out, wrap},
};

/// Take servers over from the list of another program
///
/// Without a file or --from it shows the lists that are on this computer. What would run is shown before anything is kept. Servers are
/// kept turned off, so that nothing of them is started, unless --start says otherwise.
#[derive(Debug, Args)]
#[command(
    override_usage = "usher servers import\n       usher servers import [OPTIONS] FILE [NAME]...\n       usher servers import [OPTIONS] --from PROGRAM [NAME]..."
)]
pub(super) struct Import {
    /// The file ('-' for standard input), then the servers of it; all of them if none is named
    #[arg(value_name = "FILE")]
    names: Vec<String>,
    /// The list of this program: claude-desktop, claude-code, cursor, vs-code, windsurf, or this-folder
    #[arg(long, value_name = "PROGRAM")]
    from: Option<String>,
    /// Only show what would be taken over
    #[arg(long)]
    dry_run: bool,
    /// Take over every server that has a free name, even those that the list has turned off
    #[arg(long)]
    all: bool,
    /// Turn on those that the list has turned on: they start with the window, `usher chat`, `usher script` and `usher servers`
    #[arg(long)]
    start: bool,
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
    let mut session = Session::open_quietly(Place::Folder(global.data.clone())).await?;
    let done = carry_out(&mut session, &options, inputs).await;
    session.close().await;
    done
}

async fn carry_out(
    session: &mut Session,
    options: &Import,
    mut inputs: BTreeMap<String, String>,
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
    out(&text(&review, &inputs, Paint::of_stdout(false)));
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
    let open: Vec<Input> = unsaid(&review, &chosen, &inputs).cloned().collect();
    if options.yes {
        refuse_without(&open)?;
    } else {
        match agreed(session, &list, open).await? {
            Some(said) => inputs.extend(said),
            None => {
                out("Nothing was kept.\n");
                return Ok(Exit::Fine);
            }
        }
    }
    session.host.import_servers(&source, &review.digest, &chosen, &inputs).await.map_err(unreadable)?;
    out(&format!("Taken over: {list}.\n"));
    if chosen.iter().any(|it| !it.enabled) {
        out("What is turned off starts only after `usher servers enable NAME`.\n");
    }
    let kept = session.host.secrets_kept();
    if kept.in_keyring + kept.in_file > 0 {
        err(&super::secrets(&kept));
    }
    Ok(Exit::Fine)
}

/// Asks whether the servers are taken over, and what their inputs are. `None` is a no.
async fn agreed(
    session: &mut Session,
    list: &str,
    open: Vec<Input>,
) -> Result<Option<Vec<(String, String)>>, Failure> {
    if !can_ask() || !std::io::stdout().is_terminal() {
        return Err(Failure::usage("Nobody can be asked here. Give --yes to take them over, or --dry-run."));
    }
    // The thread that reads cannot be interrupted; what it hid is shown again also when the command ends before it.
    let _as_it_was = Shown::note();
    let question = format!("Take over {list}? [y]es, [N]o: ");
    let dialogue = tokio::task::spawn_blocking(move || {
        let line = read_line(&question, false)?;
        matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes").then_some(())?;
        open.iter().map(|it| Some((it.id.clone(), ask(it, &mut read_line)?))).collect()
    });
    let said = session.follow(dialogue, |_| {}, |_| {}).await?;
    Ok(said.ok().flatten())
}

/// Asks for one input until the answer can be used. Nothing at the end of what is written.
fn ask(input: &Input, read: &mut impl FnMut(&str, bool) -> Option<String>) -> Option<String> {
    let choice = about(input).map_or_else(String::new, |it| format!(" ({it})"));
    let mut trouble = "";
    loop {
        let question =
            format!("{trouble}{}{choice}: ", clean_line(&format!("{}: {}", input.id, input.description)));
        let written = read(&question, input.password)?;
        let written = written.trim_end_matches(['\r', '\n']);
        trouble = match (written, &input.default) {
            ("", Some(default)) => return Some(default.clone()),
            ("", None) => "This is needed.\n",
            _ if input.options.is_empty() || input.options.iter().any(|it| it == written) => {
                return Some(written.to_owned());
            }
            _ => "This is none of them.\n",
        };
    }
}

/// What may be said for an input, and what it is if nothing is.
fn about(input: &Input) -> Option<String> {
    let options = (!input.options.is_empty()).then(|| format!("one of {}", input.options.join(", ")));
    let default = match &input.default {
        Some(_) if input.password => Some("otherwise the one of the list".to_owned()),
        Some(default) => Some(format!("otherwise {default:?}")),
        None => None,
    };
    let all: Vec<String> = options.into_iter().chain(default).collect();
    (!all.is_empty()).then(|| clean_line(&all.join("; ")))
}

/// The inputs that the chosen servers use and that were not said.
fn unsaid<'a>(
    review: &'a ListReview,
    chosen: &'a [ListChoice],
    said: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = &'a Input> {
    let is_used = |used_by: &[String]| chosen.iter().any(|it| used_by.contains(&it.key));
    let is_said = |it: &Input| said.get(&it.id).is_some_and(|it| !it.is_empty());
    review.inputs.iter().filter(move |it| is_used(&it.1) && !is_said(&it.0)).map(|it| &it.0)
}

/// Where nobody is asked, what has no default must have been said.
fn refuse_without(open: &[Input]) -> Result<(), Failure> {
    let missing: Vec<String> = open.iter().filter(|it| it.default.is_none()).map(option_of).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "Nothing was kept: give {}, or name only the servers that need none of it.",
        clean_line(&missing.join(", "))
    )))
}

/// The option by which an input is said. A secret is no argument, which every program of this computer can read.
fn option_of(input: &Input) -> String {
    if input.password {
        format!("--input-env {}=VARIABLE", input.id)
    } else {
        format!("--input {}=VALUE", input.id)
    }
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
        enabled: options.start && it.enabled,
    };
    Ok(review.servers.iter().filter(is_chosen).map(choice).collect())
}

fn find(known: &[KnownList], program: &str) -> Result<PathBuf, Failure> {
    let word = |it: Program| it.name().to_ascii_lowercase().replace(' ', "-");
    let is_meant = |it: Program| word(it) == program.to_ascii_lowercase();
    let list = |all: Vec<String>| clean_line(&all.join(", "));
    if !Program::ALL.into_iter().any(is_meant) {
        let all = list(Program::ALL.map(word).into());
        return Err(Failure::usage(format!("Usher knows no list of {program:?}. It knows those of {all}.")));
    }
    let found = known.iter().find(|it| is_meant(it.program));
    found.map(|it| it.path.clone()).ok_or_else(|| {
        let there = list(known.iter().map(|it| word(it.program)).collect());
        let there = if there.is_empty() {
            "Nor is there one of another program; give a file.".to_owned()
        } else {
            format!("There are those of {there}.")
        };
        Failure::usage(format!("There is no list of {program} on this computer. {there}"))
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
        let mut say = |tone: Tone, line: String| {
            for line in wrap(&clean_line(&line), WIDTH - 2) {
                let _ = writeln!(text, "  {}", paint.tone(tone, &line));
            }
        };
        if server.taken {
            say(Tone::Wrong, "a server of this name is here already; it is not taken over".to_owned());
        }
        server.remarks.iter().for_each(|it| say(Tone::Wrong, it.clone()));
        if !server.missing.is_empty() {
            say(Tone::Wrong, format!("not set here: {}", server.missing.join(", ")));
        }
        for (input, used_by) in &review.inputs {
            if !used_by.contains(&server.name) || inputs.contains_key(&input.id) {
                continue;
            }
            let about = about(input).map_or_else(String::new, |it| format!(" ({it})"));
            let (verb, tone) =
                if input.default.is_none() { ("needs", Tone::Wrong) } else { ("takes", Tone::Faint) };
            say(tone, format!("{verb} {}: {}{about}", option_of(input), input.description));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn input(password: bool, default: Option<&str>, options: &[&str]) -> Input {
        Input {
            id: "level".to_owned(),
            description: "How much".to_owned(),
            password,
            default: default.map(str::to_owned),
            options: options.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    /// What is asked and answered for the lines that somebody writes, with whether it was hidden.
    fn asked(input: &Input, lines: &[&str]) -> (String, Option<String>) {
        let (mut lines, mut said) = (lines.iter(), String::new());
        let answer = ask(input, &mut |question, secret| {
            said += question;
            said += if secret { "[hidden]" } else { "[shown]" };
            lines.next().map(|it| format!("{it}\n"))
        });
        (said, answer)
    }

    #[test]
    fn an_input_is_asked_for_until_the_answer_can_be_used() {
        let (said, answer) = asked(&input(true, None, &[]), &["", "CANARY"]);
        assert_eq!(said, "level: How much: [hidden]This is needed.\nlevel: How much: [hidden]");
        assert_eq!(answer.as_deref(), Some("CANARY"));
        let choice = input(false, Some("low"), &["low", "high"]);
        let (said, answer) = asked(&choice, &["middle", "high"]);
        let question = "level: How much (one of low, high; otherwise \"low\"): [shown]";
        assert_eq!(said, format!("{question}This is none of them.\n{question}"));
        assert_eq!(answer.as_deref(), Some("high"));
        assert_eq!(asked(&choice, &[""]).1.as_deref(), Some("low"));
        assert_eq!(asked(&choice, &[]).1, None, "the end of the input is a no");
    }

    #[test]
    fn a_list_that_is_not_known_is_told_apart_from_one_that_is_not_there() {
        let said = |program: &str| find(&[], program).err().map(|it| it.text).unwrap_or_default();
        assert_eq!(
            said("emacs"),
            "Usher knows no list of \"emacs\". It knows those of claude-desktop, claude-code, cursor, vs-code, windsurf, this-folder."
        );
        assert_eq!(
            said("Cursor"),
            "There is no list of Cursor on this computer. Nor is there one of another program; give a file."
        );
    }
}
