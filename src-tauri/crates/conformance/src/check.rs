//! What a scenario came to: its checks in the official suite's shape, and the lines that sum them up.

use std::{collections::BTreeMap, io, path::Path};

use serde::Serialize;
use serde_json::Value;
use usher_protocol::Rule;

use crate::Scenario;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// A server.
    Server,
    /// A client.
    Client,
}

/// How a check ended, in the official suite's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// The requirement is kept.
    Success,
    /// It is broken.
    Failure,
    /// A recommendation is not followed; the scenario passes.
    Warning,
    /// It could not be measured; no pass.
    Skipped,
}

/// One check, as `checks.json` has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What is checked, such as `sep-3279-s04`. Several checks may have the same.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What is owed, in a sentence.
    pub description: String,
    /// How it ended.
    pub status: Status,
    /// Why it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Where it is demanded.
    pub spec_references: Vec<SpecReference>,
    /// What was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// A place in a specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpecReference {
    /// A name for it.
    pub id: String,
    /// Its address.
    pub url: String,
}

impl Check {
    /// A check of a numbered requirement; `trouble` is why it did not succeed.
    pub(crate) fn of(rule: Rule, status: Status, trouble: Option<String>, details: Value) -> Self {
        let id = rule.id();
        Self {
            id: format!("sep-3279-{}", id.to_lowercase()),
            name: id.to_owned(),
            description: rule.text().to_owned(),
            status,
            error_message: trouble,
            spec_references: vec![SpecReference { id: format!("SEP-3279 {id}"), url: PROPOSAL.to_owned() }],
            details: Some(details),
        }
    }

    /// A check that has no number: that something could be measured at all.
    pub(crate) fn plain(id: &str, description: &str, trouble: Option<String>, details: Value) -> Self {
        Self {
            id: format!("sep-3279-{id}"),
            name: id.to_owned(),
            description: description.to_owned(),
            status: if trouble.is_some() { Status::Failure } else { Status::Success },
            error_message: trouble,
            spec_references: vec![SpecReference { id: "SEP-3279".to_owned(), url: PROPOSAL.to_owned() }],
            details: Some(details),
        }
    }
}

/// Where the proposal is discussed.
const PROPOSAL: &str = "https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3279";

/// What a scenario came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioResult {
    /// The scenario.
    pub scenario: Scenario,
    /// Every check that was made.
    pub checks: Vec<Check>,
    /// Why it, or the part of it that matters, was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What else was noticed, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A scenario's end in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Something was checked, and nothing failed.
    Passed,
    /// A check failed, or nothing was checked and nobody knows why.
    Failed,
    /// It does not apply, or could not be measured.
    Skipped,
}

impl ScenarioResult {
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self { scenario, checks: Vec::new(), skipped: None, notes: Vec::new() }
    }

    /// How often a status came out.
    pub fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|it| it.status == status).count()
    }

    /// The end in one word. Where nothing was checked, nothing has passed.
    pub fn outcome(&self) -> Outcome {
        if self.count(Status::Failure) > 0 {
            Outcome::Failed
        } else if self.skipped.is_some() {
            Outcome::Skipped
        } else if self.count(Status::Success) > 0 {
            Outcome::Passed
        } else {
            Outcome::Failed
        }
    }

    /// One line: the name, and what was counted.
    pub fn line(&self) -> String {
        let name = self.scenario.name();
        let (passed, failed) = (self.count(Status::Success), self.count(Status::Failure));
        let warned = match self.count(Status::Warning) {
            0 => String::new(),
            count => format!(", {count} warnings"),
        };
        match (self.outcome(), &self.skipped) {
            (Outcome::Skipped, Some(why)) => format!("- {name}: SKIPPED: {why}"),
            (Outcome::Passed, _) => format!("✓ {name}: {passed} passed, {failed} failed{warned}"),
            (Outcome::Failed | Outcome::Skipped, _) => {
                format!("✗ {name}: {passed} passed, {failed} failed{warned}")
            }
        }
    }

    /// Writes `checks.json` into the scenario's own folder below this one, and answers that folder.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn write(&self, side: Side, folder: &Path, timestamp: &str) -> io::Result<std::path::PathBuf> {
        #[derive(Serialize)]
        struct Stamped<'a> {
            #[serde(flatten)]
            check: &'a Check,
            timestamp: &'a str,
        }
        let name = match side {
            Side::Server => format!("server-{}", self.scenario.name()),
            Side::Client => self.scenario.name().to_owned(),
        };
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)?;
        let mut checks: Vec<Stamped<'_>> =
            self.checks.iter().map(|check| Stamped { check, timestamp }).collect();
        // A scenario that does not apply says so in its file, too.
        let whole = self.skipped.as_ref().map(|why| Check {
            status: Status::Skipped,
            ..Check::plain(
                "applies",
                "The scenario applies and could be measured.",
                Some(why.clone()),
                Value::Null,
            )
        });
        checks.extend(whole.iter().map(|check| Stamped { check, timestamp }));
        let text = serde_json::to_string_pretty(&checks).map_err(io::Error::other)?;
        std::fs::write(folder.join("checks.json"), text + "\n")?;
        Ok(folder)
    }
}

/// What is noted and not said already as the reason why a scenario was skipped.
fn unsaid(result: &ScenarioResult) -> impl Iterator<Item = &String> {
    let skipped = result.skipped.as_deref().unwrap_or_default();
    result.notes.iter().filter(move |it| !skipped.contains(it.as_str()))
}

/// What is noted in more than one scenario, with their numbers.
fn repeated(results: &[ScenarioResult]) -> BTreeMap<&str, Vec<&'static str>> {
    let mut all: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
    for result in results {
        for note in unsaid(result) {
            all.entry(note).or_default().push(result.scenario.id());
        }
    }
    all.retain(|_, ids| ids.len() > 1);
    all
}

/// The lines of every scenario with what failed in it, what was noted in several, and the one that sums them up.
pub fn summary(side: Side, results: &[ScenarioResult]) -> String {
    let mut lines = vec!["=== SUMMARY ===".to_owned(), String::new()];
    let repeated = repeated(results);
    for result in results {
        lines.push(result.line());
        let told = result.checks.iter().filter(|it| matches!(it.status, Status::Failure | Status::Warning));
        for check in told {
            let mark = if check.status == Status::Failure { "✗" } else { "!" };
            let why = check.error_message.as_deref().unwrap_or(&check.description);
            lines.push(format!("    {mark} {}: {why}", check.name));
        }
        let own = unsaid(result).filter(|it| !repeated.contains_key(it.as_str()));
        lines.extend(own.map(|it| format!("    · {it}")));
    }
    if !repeated.is_empty() {
        lines.push(String::new());
        lines.extend(repeated.iter().map(|(note, ids)| format!("· {note} ({})", ids.join(" "))));
    }
    let count = |outcome| results.iter().filter(|it| it.outcome() == outcome).count();
    let side = match side {
        Side::Server => "server",
        Side::Client => "client",
    };
    lines.push(String::new());
    lines.push(format!(
        "SEP-3279 {side} {}/{}: {} failed, {} skipped",
        count(Outcome::Passed),
        results.len(),
        count(Outcome::Failed),
        count(Outcome::Skipped)
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_in_several_scenarios_is_told_once() {
        let of = |scenario, notes: &[&str], skipped: Option<&str>| ScenarioResult {
            notes: notes.iter().map(|it| (*it).to_owned()).collect(),
            skipped: skipped.map(str::to_owned),
            ..ScenarioResult::new(scenario)
        };
        let results = [
            of(Scenario::P01, &["t was not called", "u failed"], None),
            of(Scenario::P02, &["t was not called"], None),
            of(Scenario::P03, &["v failed"], Some("v failed")),
        ];
        let said = summary(Side::Server, &results);
        assert_eq!(said.matches("t was not called").count(), 1);
        assert!(said.contains("\n· t was not called (P01 P02)\n"), "{said}");
        assert!(said.contains("\n    · u failed\n"), "{said}");
        assert_eq!(said.matches("v failed").count(), 1);
    }
}
