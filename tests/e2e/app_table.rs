//! The tables of `docs/app-compatibility.md`: a row for each View, and whether the committed rows are those that were seen.
//!
//! The last column is measured and differs from run to run; it is not compared. Deliberately absent: what the rows mean, which the
//! document says in its own words.

use usher_tests::tree;

use super::{App, DRAWING};

const DOCUMENT: &str = "docs/app-compatibility.md";

const HEAD: &str = "| Server | Version | Starts | Shows | Asks | Put away | Initialised |\n| --- | --- | --- | --- | --- | --- | --- |\n";

/// What was seen of a View.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) started: bool,
    /// What was expected and did not come.
    pub(super) missing: Vec<String>,
    /// How it answered when it was put away.
    pub(super) answer: Option<String>,
    /// In milliseconds since it was opened.
    pub(super) initialized: Option<u64>,
}

impl Row {
    pub(super) fn line(&self, app: &App, version: &str) -> String {
        let App { server, .. } = app;
        if !self.started {
            let why = app.needs.as_deref().unwrap_or("nobody knows why");
            return format!("| {server} | {version} | no: {why} |  |  |  |  |");
        }
        let shown = |it: &&String| !self.missing.contains(&format!("\"{it}\""));
        let mut words: Vec<&str> = app.words.iter().filter(shown).map(String::as_str).collect();
        if app.draws && !self.missing.iter().any(|it| it == DRAWING) {
            words.push(DRAWING);
        }
        let asked = app.asks.iter().filter(|it| !self.missing.contains(it)).cloned();
        let waits = app.waits.iter().map(|it| format!("{it}, which waits"));
        let failed = app.fails.iter().map(|it| format!("{it}, refused"));
        let asks: Vec<String> = asked
            .chain(waits.chain(failed).filter(|it| !self.missing.contains(it)))
            .map(|it| format!("`{it}`"))
            .collect();
        let away = self.answer.as_deref().map_or("no answer".to_owned(), |it| match it {
            "result" => "answered".to_owned(),
            code => format!("answered {code}"),
        });
        let seconds =
            self.initialized.map_or_else(String::new, |it| format!("{}.{} s", it / 1000, it % 1000 / 100));
        format!(
            "| {server} | {version} | yes | {} | {} | {away} | {seconds} |",
            words.join(", "),
            asks.join(", ")
        )
    }
}

/// A row without what is measured.
fn stable(line: &str) -> &str {
    line.trim_end().trim_end_matches('|').rsplit_once('|').map_or(line, |it| it.0)
}

/// Compares the rows of a generation with the document, or writes them into it when `UPDATE_EXPECT` is set. Gives the differences.
pub(super) fn compare(generation: &str, rows: &[String]) -> anyhow::Result<Vec<String>> {
    let mark = format!("apps {generation}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        tree::write_between(DOCUMENT, &mark, &format!("{HEAD}{}", rows.join("\n")))?;
        return Ok(Vec::new());
    }
    let committed = tree::between(DOCUMENT, &mark)?;
    let committed: Vec<&str> = committed.lines().filter(|it| it.starts_with("| ")).skip(2).collect();
    let seen: Vec<&str> = rows.iter().map(String::as_str).collect();
    let mut found = only_in(&committed, &seen, "not seen any more");
    found.extend(only_in(&seen, &committed, "seen, and not in it; UPDATE_EXPECT=1 writes it anew"));
    Ok(found)
}

/// The rows that others do not have, but for what is measured.
fn only_in(rows: &[&str], others: &[&str], what: &str) -> Vec<String> {
    let others: Vec<&str> = others.iter().map(|it| stable(it)).collect();
    let own = rows.iter().filter(|it| !others.contains(&stable(it)));
    own.map(|it| format!("{DOCUMENT}, {what}: {it}")).collect()
}
