//! A report for people.

use std::{collections::BTreeSet, fmt::Write};

use usher_engine::contract::{Check, Finding, Level};
use usher_host::{
    contract::{Status, ToolReport, Verdict},
    model::Fate,
};

use super::Pasted;
use crate::api::contract::{ToolPortability, Whole, hint};
use crate::cli::terminal::{Paint, Tone, WIDTH, clean_line, clip, wrap};

/// The longest arguments that are shown, in characters.
const LONGEST_ARGUMENTS: usize = 240;

/// Writes it.
pub(super) fn text(whole: &Whole, paint: Paint) -> String {
    let report = &whole.report;
    let mut text = String::new();
    let name = clean_line(report.server.as_deref().unwrap_or("The server"));
    let version = clean_line(report.version.as_deref().unwrap_or_default());
    let _ = writeln!(text, "{} {version}  {}", paint.tone(Tone::Strong, &name), report.revision);
    if let Some(projected) = &report.projected {
        let _ = writeln!(text, "Projections were checked under {projected} as well.");
    }
    text += "\n";
    section(&mut text, "the server as a whole", &report.whole, paint);
    for tool in &report.tools {
        of_tool(&mut text, tool, paint);
    }
    let _ = writeln!(text, "\n{}", paint.rule("Input schemas"));
    for it in &whole.portability {
        schemas(&mut text, it, paint);
    }
    let verdicts = || report.whole.iter().chain(report.tools.iter().flat_map(|it| &it.verdicts));
    let unkept = verdicts().filter(|it| it.status != Status::Kept).map(|it| it.check);
    meanings(&mut text, &unkept.collect(), paint);
    if report.stopped {
        text += "\nStopped before all tools were checked.\n";
    }
    let count = |level| report.findings().filter(|it| it.1.level == level).count();
    let skipped = report.tools.iter().filter(|it| it.skipped.is_some()).count();
    let _ = writeln!(
        text,
        "\n{} broken, {} recommended, {skipped} of {} tools not called.",
        count(Level::Broken),
        count(Level::Advice),
        report.tools.len()
    );
    text
}

fn of_tool(text: &mut String, tool: &ToolReport, paint: Paint) {
    text.push('\n');
    let calls = if tool.calls == 1 { "call" } else { "calls" };
    let title = format!("{}, {} {calls}", clean_line(&tool.name), tool.calls);
    section(text, &title, &tool.verdicts, paint);
    for it in &tool.called {
        let said = clip(&clean_line(it.arguments.get()), LONGEST_ARGUMENTS);
        let mut word = it.case.name();
        for line in wrap(&said, WIDTH - 15) {
            let _ = writeln!(text, "  {word:<12} {line}");
            word = "";
        }
    }
    let skipped = tool.skipped.iter().map(|it| format!("not called: {it}"));
    for note in skipped.chain(tool.notes.iter().cloned()) {
        for line in wrap(&clean_line(&note), WIDTH - 4) {
            let _ = writeln!(text, "    {}", paint.tone(Tone::Faint, &line));
        }
    }
    let hints: Vec<String> = tool.wants.iter().map(|it| hint(*it, &tool.name)).collect();
    if !hints.is_empty() {
        for line in wrap(&clean_line(&format!("→ {}", hints.join(" "))), WIDTH - 4) {
            let _ = writeln!(text, "    {line}");
        }
    }
}

/// What the numbers stand for that a reader has to do with.
fn meanings(text: &mut String, checks: &BTreeSet<Check>, paint: Paint) {
    if checks.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", paint.rule("Not kept or not checked"));
    for check in checks {
        let mut id = check.id();
        for line in wrap(check.text(), WIDTH - 6) {
            let _ = writeln!(text, "  {id:<3} {line}");
            id = "";
        }
    }
}

/// The requirements of a section: those that are kept in one line, those that are not with what was found.
fn section(text: &mut String, title: &str, verdicts: &[Verdict], paint: Paint) {
    let _ = writeln!(text, "{}", paint.tone(Tone::Strong, title));
    for (status, word) in [(Status::Kept, "kept"), (Status::NotChecked, "not checked")] {
        let ids: Vec<&str> =
            verdicts.iter().filter(|it| it.status == status).map(|it| it.check.id()).collect();
        if !ids.is_empty() {
            let _ = writeln!(text, "  {word:<12} {}", ids.join(" "));
        }
    }
    for verdict in verdicts {
        findings(text, &verdict.findings, paint);
    }
}

fn findings(text: &mut String, findings: &[Finding], paint: Paint) {
    for finding in findings {
        let (word, tone) = match finding.level {
            Level::Broken => ("broken", Tone::Wrong),
            Level::Advice => ("recommended", Tone::Other),
        };
        let by = finding.by.map_or_else(String::new, |it| format!(" ({it})"));
        let head = format!("{word:<12} {}{by}", finding.check);
        let _ = writeln!(text, "  {}", paint.tone(tone, &head));
        let said = format!("{}: {}", finding.case.name(), clean_line(&finding.text));
        let place = finding.pointer.iter().filter(|it| !it.is_empty());
        let place = place.map(|it| format!("at {}", clean_line(it)));
        // The first place is in the text already.
        let more = finding.problems.iter().skip(1);
        let more = more.map(|it| format!("and {}: {}", clean_line(&it.pointer), clean_line(&it.message)));
        let lines = std::iter::once(said).chain(place).chain(more);
        for line in lines.flat_map(|it| wrap(&it, WIDTH - 15)) {
            let _ = writeln!(text, "               {line}");
        }
    }
    // What to do is the same for all that breaks one requirement.
    if let Some(last) = findings.last() {
        for line in wrap(&format!("→ {}", last.check.remedy()), WIDTH - 15) {
            let _ = writeln!(text, "               {line}");
        }
    }
}

/// Providers that treat a schema alike are named together.
fn schemas(text: &mut String, it: &ToolPortability, paint: Paint) {
    let _ = writeln!(text, "{}", paint.tone(Tone::Strong, &clean_line(&it.tool)));
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (provider, found) in &it.providers {
        let mut parts = Vec::new();
        for (fate, word) in
            [(Fate::Refused, "refuses"), (Fate::Dropped, "drops"), (Fate::Hint, "does not enforce")]
        {
            let keywords: Vec<&str> =
                found.keywords.iter().filter(|it| it.fate == fate).map(|it| it.keyword.as_str()).collect();
            if !keywords.is_empty() {
                parts.push(format!("{word} {}", clean_line(&keywords.join(", "))));
            }
        }
        parts.extend(found.rewrites.iter().map(|it| format!("would be sent rewritten: {it}")));
        parts.extend(found.refusal.iter().map(|it| format!("cannot be offered: {it}")));
        let line = if parts.is_empty() { "takes it as it is".to_owned() } else { parts.join("; ") };
        match said.iter_mut().find(|it| it.0 == line) {
            Some((_, names)) => names.push(provider.name()),
            None => said.push((line, vec![provider.name()])),
        }
    }
    for (line, names) in said {
        for line in wrap(&format!("{}: {}", names.join(", "), clean_line(&line)), WIDTH - 2) {
            let _ = writeln!(text, "  {line}");
        }
    }
}

/// Writes what a pasted result came to.
pub(super) fn pasted(pasted: &Pasted, paint: Paint) -> String {
    let mut text = String::new();
    let checks: BTreeSet<Check> = pasted.findings.iter().map(|it| it.check).collect();
    for check in &checks {
        let of_one: Vec<Finding> = pasted.findings.iter().filter(|it| it.check == *check).cloned().collect();
        findings(&mut text, &of_one, paint);
    }
    let broken: Vec<&str> = pasted.findings.iter().map(|it| it.check.id()).collect();
    let kept: Vec<&str> = pasted.looked.iter().filter(|it| !broken.contains(it)).copied().collect();
    if !kept.is_empty() {
        let _ = writeln!(text, "  {:<12} {}", "kept", kept.join(" "));
    }
    let _ = writeln!(text, "  {:<12} {}, schema {}", "read as", pasted.revision, clean_line(&pasted.dialect));
    for note in &pasted.notes {
        let _ = writeln!(text, "  {}", paint.tone(Tone::Faint, note));
    }
    meanings(&mut text, &checks, paint);
    text
}
