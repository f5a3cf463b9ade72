//! The contract checker on servers that others wrote: what it finds is written into `docs/contract-survey.md`.
//!
//! The servers are pinned in `survey/package.json`, and `survey/servers.json` says how each is started and called. They run without a
//! network, in a namespace of their own, so that what is found does not depend on the day. Nothing is asserted about the findings:
//! they are read by people, who say in the document which of them are true.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, time::Duration};

use serde::Deserialize;
use usher_engine::contract::Level;
use usher_host::{
    connection::{ConnectionOptions, PathSource, ServerSpec, StdioSpec},
    contract::{CheckOptions, Given, Report, check},
};
use usher_protocol::RawJson;
use usher_tests::tree;

/// How a server is started and called. `{folder}` stands for a folder of this run with a few files.
#[derive(Deserialize)]
struct Entry {
    package: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Tools that warn and are called nonetheless, in that folder.
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    calls: BTreeMap<String, Calls>,
    /// Why it does not start without a network.
    needs: Option<String>,
}

#[derive(Deserialize)]
struct Calls {
    normal: Option<RawJson>,
    empty: Option<RawJson>,
    failing: Option<RawJson>,
}

#[derive(Deserialize)]
struct Package {
    version: String,
    bin: BTreeMap<String, String>,
}

#[tokio::test]
#[ignore = "needs servers from npm and no network: cargo xtask survey"]
async fn what_is_found_of_servers_that_others_wrote() {
    let entries = std::fs::read_to_string(tree::root().join("tests/survey/servers.json")).unwrap();
    let entries: Vec<Entry> = serde_json::from_str(&entries).unwrap();
    let mut table = String::from(
        "| Package | Version | Revision | Tools, called | Broken | Recommended |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    let mut found = String::new();
    let mut unstarted = String::new();
    for entry in entries {
        let name = entry.package.trim_start_matches("@modelcontextprotocol/").to_owned();
        let Surveyed { version, report, places } = survey(&entry).await;
        match (report, &entry.needs) {
            (Ok(report), None) => {
                writeln!(table, "| {name} | {version} | {}", row(&report)).unwrap();
                findings(&name, &report, &places, &mut found);
            }
            (Err(_), Some(why)) => writeln!(unstarted, "- {name} {version}: {why}").unwrap(),
            (Ok(_), Some(_)) => panic!("{name} starts, and is said not to"),
            (Err(error), None) => panic!("{name} does not start: {error}"),
        }
    }
    let text =
        format!("{table}\n### Every finding\n\n{found}\n### Not started without a network\n\n{unstarted}");
    tree::write_between("docs/contract-survey.md", "survey", &text).unwrap();
}

/// What came of one server.
struct Surveyed {
    version: String,
    report: Result<Report, String>,
    /// Folders of this machine, which a server may quote, with what the document says in their place.
    places: [(String, &'static str); 2],
}

async fn survey(entry: &Entry) -> Surveyed {
    // `cargo xtask survey` says where the servers are.
    let dir = std::env::var_os("USHER_SURVEY_DIR").unwrap();
    let home = Path::new(&dir).join("node_modules").join(&entry.package);
    let package = std::fs::read_to_string(home.join("package.json")).unwrap();
    let package: Package = serde_json::from_str(&package).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    furnish(&root);
    let fill = |text: &str| text.replace("{folder}", root.to_str().unwrap());
    let program = home.join(package.bin.values().next().unwrap());
    let mut args: Vec<String> = ["--net", "--map-root-user", "--", "node"].map(str::to_owned).to_vec();
    args.push(program.to_string_lossy().into_owned());
    args.extend(entry.args.iter().map(|it| fill(it)));
    // What a server keeps for its user is of this run too.
    let home_of_run = ("HOME".to_owned(), root.to_string_lossy().into_owned());
    let own = entry.env.iter().map(|(key, value)| (key.clone(), fill(value)));
    let env = std::iter::once(home_of_run).chain(own).collect();
    let spec = StdioSpec { command: "unshare".to_owned(), args, env, cwd: Some(root.clone()) };
    let filled = |it: &Option<RawJson>| it.as_ref().map(|it| RawJson::parse(fill(it.get())).unwrap());
    let given = |it: &Calls| Given {
        normal: filled(&it.normal),
        empty: filled(&it.empty),
        failing: filled(&it.failing),
    };
    let options = CheckOptions {
        connection: ConnectionOptions { path: PathSource::Inherited, ..ConnectionOptions::default() },
        given: entry.calls.iter().map(|(tool, it)| (tool.clone(), given(it))).collect(),
        allowed: entry.allow.iter().cloned().collect(),
        timeout: Duration::from_secs(30),
        ..CheckOptions::default()
    };
    let report = check(&ServerSpec::Stdio(spec), &options).await;
    let places = [
        (root.to_string_lossy().into_owned(), "{folder}"),
        (home.to_string_lossy().into_owned(), "{package}"),
    ];
    Surveyed { version: package.version, report: report.map_err(|error| error.to_string()), places }
}

/// The files that tools are called with.
fn furnish(root: &Path) {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const PAGE: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";
    for (name, text) in
        [("notes.txt", "one\ntwo\n"), ("edit.txt", "one\n"), ("move.txt", "moved\n"), ("empty.txt", "")]
    {
        std::fs::write(root.join(name), text).unwrap();
    }
    std::fs::write(root.join("pixel.png"), usher_tests::canaries::from_base64(PIXEL)).unwrap();
    std::fs::write(root.join("page.pdf"), PAGE).unwrap();
    std::fs::create_dir(root.join("hollow")).unwrap();
}

fn row(report: &Report) -> String {
    let called = report.tools.iter().filter(|it| it.calls > 0).count();
    let of = |level: Level| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, found) in report.findings().filter(|it| it.1.level == level) {
            *counts.entry(found.check.id()).or_default() += 1;
        }
        let counts: Vec<String> = counts
            .into_iter()
            .map(|(id, count)| if count == 1 { id.to_owned() } else { format!("{id} × {count}") })
            .collect();
        counts.join(", ")
    };
    format!(
        "{} | {}, {called} | {} | {} |",
        report.revision,
        report.tools.len(),
        of(Level::Broken),
        of(Level::Advice)
    )
}

fn findings(name: &str, report: &Report, places: &[(String, &str)], text: &mut String) {
    for (tool, found) in report.findings() {
        let tool = tool.map_or_else(String::new, |it| format!(" `{it}`"));
        let place = found.pointer.as_ref().map_or_else(String::new, |it| format!(" at `{it}`"));
        let mut said = found.text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/");
        for (folder, name) in places {
            said = said.replace(folder, name);
        }
        writeln!(text, "- {name}{tool}, {} ({}){place}: {said}", found.check, found.case.name()).unwrap();
    }
}
