//! `usher view`: the window, opened on the View bench for one tool.
//!
//! Deliberately absent: drawing a View in a terminal. A build without a window says so.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use usher_host::conversation::Fixture;
use usher_protocol::RawJson;

use super::{
    Global, complain,
    given::GivenServer,
    session::{Exit, Failure},
    terminal::clean,
};

/// Open the window on the View of a tool, with values of your own
#[derive(Debug, Args)]
#[command(
    override_usage = "usher view [OPTIONS] SERVER TOOL\n       usher view [OPTIONS] TOOL --url URL\n       usher view [OPTIONS] TOOL -- CMD [ARG]..."
)]
pub(super) struct Options {
    /// A configured server and its tool; only the tool if a server is given
    #[arg(required = true, num_args = 1..=2, value_name = "SERVER TOOL")]
    names: Vec<String>,
    /// Begin with what this file says; docs/view-bench.md has its form
    #[arg(long, value_name = "FILE")]
    fixture: Option<PathBuf>,
    /// The tool's arguments, as a JSON object
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Start the server again when this file, or a file of this folder, changes; may be given more than once
    #[arg(long, value_name = "PATH")]
    watch: Vec<PathBuf>,
    #[command(flatten)]
    given: GivenServer,
}

/// What is to be shown, checked as far as it can be without a server.
#[cfg_attr(not(feature = "desktop"), expect(dead_code, reason = "only a window shows it"))]
struct Plan {
    /// The configured server's name; absent for one that is given.
    server: Option<String>,
    fixture: Fixture,
    /// Where the fixture was read from.
    place: Option<PathBuf>,
    /// Whether somebody chose the input; otherwise the tool's declaration offers one.
    has_input: bool,
    watched: Vec<PathBuf>,
    given: GivenServer,
}

impl Plan {
    fn of(options: Options) -> Result<Self, Failure> {
        let (server, tool) = match (options.names.as_slice(), options.given.is_none()) {
            ([server, tool], true) => (Some(server.clone()), tool.clone()),
            ([tool], false) => (None, tool.clone()),
            ([_], true) => {
                return Err(Failure::usage(
                    "Name the server and the tool, or give a server with --url or after --.",
                ));
            }
            _ => return Err(Failure::usage("With a server that is given, name only the tool.")),
        };
        let mut has_input = options.fixture.is_some();
        let place = options.fixture.map(whole).transpose()?;
        let mut fixture = match &place {
            Some(path) => read(path, &tool)?,
            None => Fixture::of(tool),
        };
        if let Some(input) = options.input {
            let wrong = |why: String| Failure::usage(format!("--input is not a JSON object: {why}."));
            let input = RawJson::parse(input).map_err(|error| wrong(error.to_string()))?;
            if !input.is_object() {
                return Err(wrong("it is JSON of another kind".to_owned()));
            }
            (fixture.input, has_input) = (input, true);
        }
        let watched = options.watch.into_iter().map(whole).collect::<Result<_, _>>()?;
        Ok(Self { server, fixture, place, has_input, watched, given: options.given })
    }
}

/// A path from the root, as the window needs it.
fn whole(path: PathBuf) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| Failure::usage(format!("{}: {error}.", path.display())))
}

fn read(path: &Path, tool: &str) -> Result<Fixture, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{}: {error}.", path.display())))?;
    let fixture = Fixture::read(&text)
        .map_err(|error| Failure::usage(format!("{}: {} {}", path.display(), error.what, error.todo)))?;
    if fixture.tool != tool {
        let text =
            format!("{} is a fixture of the tool {:?}, and not of {tool:?}.", path.display(), fixture.tool);
        return Err(Failure::usage(text));
    }
    Ok(fixture)
}

/// Opens the window and returns when it was closed.
pub(super) fn run(runtime: &tokio::runtime::Runtime, options: Options, global: &Global) -> ExitCode {
    let shown = Plan::of(options).and_then(|plan| show(runtime, plan, global));
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { exit, text }) => complain(&clean(&text), exit.code()),
    }
}

#[cfg(not(feature = "desktop"))]
fn show(_runtime: &tokio::runtime::Runtime, _plan: Plan, _global: &Global) -> Result<(), Failure> {
    Err(Failure::new(
        Exit::Usage,
        "This build of Usher has no window, and Views are shown in it. Build it with `--features desktop`.",
    ))
}

#[cfg(feature = "desktop")]
fn show(runtime: &tokio::runtime::Runtime, plan: Plan, global: &Global) -> Result<(), Failure> {
    let cannot = |error: anyhow::Error| Failure::new(Exit::Unreachable, format!("{error:#}"));
    crate::desktop::check_display().map_err(cannot)?;
    let (usher, _folder) = runtime.block_on(prepare(plan, global))?;
    crate::desktop::run(runtime.handle().clone(), std::sync::Arc::new(usher)).map_err(cannot)
}

/// Opens the data with the server on it. A server that is given has a folder of its own, which is gone afterwards.
#[cfg(feature = "desktop")]
async fn prepare(
    plan: Plan,
    global: &Global,
) -> Result<(crate::api::Usher, Option<tempfile::TempDir>), Failure> {
    use crate::api::{Usher, bench, types::BenchStart};

    let unreachable = |text: String| Failure::new(Exit::Unreachable, text);
    let folder = match plan.server {
        Some(_) => None,
        None => {
            let made = tempfile::Builder::new().prefix("usher-").tempdir();
            Some(
                made.map_err(|error| unreachable(format!("A temporary folder could not be made: {error}.")))?,
            )
        }
    };
    let mut options = super::window_options(global.data.clone(), folder.is_none());
    if let Some(made) = &folder {
        // What an author saves by a name is there the next time too.
        options.fixtures = Some(options.folder().join("bench"));
        options.data_dir = Some(made.path().to_owned());
        options.passing = true;
    }
    let usher = Usher::open(options).await.map_err(|error| unreachable(error.to_string()))?;
    let host = usher.host();
    let server_id = match &plan.server {
        Some(name) => {
            let all = host.server_statuses();
            let found = all.iter().find(|it| it.name == *name || it.id == *name);
            let found = found.or_else(|| all.iter().find(|it| it.name.eq_ignore_ascii_case(name)));
            let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
            let unknown =
                || Failure::usage(format!("There is no server {name:?}. There are: {}.", names.join(", ")));
            found.map(|it| it.id.clone()).ok_or_else(unknown)?
        }
        None => {
            for status in host.server_statuses() {
                host.remove_server(&status.id).await?;
            }
            let (name, spec) = plan.given.spec()?;
            // Whoever opens the window for one View knows what it is for.
            let preferences = usher_host::conversation::Preferences { tour_done: true, ..host.preferences() };
            host.save_preferences(preferences).await?;
            let id = host.save_server(None, name, spec).await?;
            host.start_server(&id).await?;
            id
        }
    };
    host.watch_for_bench(&server_id, plan.watched.clone())?;
    let mut form = bench::form(plan.fixture);
    if !plan.has_input {
        form.input_json.clear();
    }
    let start = BenchStart {
        server_id,
        form,
        place: plan.place.map(|it| it.display().to_string()),
        watched: plan.watched.iter().map(|it| it.display().to_string()).collect(),
    };
    Ok((usher.on_the_bench(start), folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(names: &[&str]) -> Options {
        Options {
            names: names.iter().map(|it| (*it).to_owned()).collect(),
            fixture: None,
            input: None,
            watch: Vec::new(),
            given: GivenServer::default(),
        }
    }

    fn wrong(options: Options) -> String {
        Plan::of(options).err().map_or_else(|| "fine".to_owned(), |it| it.text)
    }

    #[test]
    fn what_cannot_be_shown_is_said_before_a_window_opens() {
        assert_eq!(wrong(options(&["Sample", "search"])), "fine");
        assert!(wrong(options(&["search"])).starts_with("Name the server"));
        let with = |input: &str| Options { input: Some(input.to_owned()), ..options(&["Sample", "search"]) };
        assert!(wrong(with("[]")).contains("another kind"));
        assert!(wrong(with("{")).contains("is not a JSON object"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.json");
        let fixture =
            |path: &PathBuf| Options { fixture: Some(path.clone()), ..options(&["Sample", "search"]) };
        assert!(wrong(fixture(&path)).contains("one.json"));
        std::fs::write(&path, r#"{"usherViewFixture": 1, "tool": "other"}"#).unwrap();
        assert!(wrong(fixture(&path)).contains("a fixture of the tool \"other\""));
        std::fs::write(&path, r#"{"usherViewFixture": 1, "tool": "search", "input": {"q": 1}}"#).unwrap();
        let plan = Plan::of(Options { input: Some(r#"{"q":2}"#.to_owned()), ..fixture(&path) }).ok().unwrap();
        assert_eq!((plan.fixture.input.get(), plan.has_input), (r#"{"q":2}"#, true));
        let watch = Options { watch: vec![folder.path().join("none")], ..options(&["Sample", "search"]) };
        assert!(wrong(watch).contains("none"));
    }
}
