//! What a check came to: for each tool and for the server as a whole, each requirement with its state.

use serde::Serialize;
use usher_engine::contract::{Case, Check, Finding, Judgement, Level};
use usher_protocol::{RawJson, model::Tool};

/// What was found of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What the server calls itself.
    pub server: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The revision that was checked.
    pub revision: String,
    /// An earlier revision whose projections were checked as well.
    pub projected: Option<String>,
    /// What concerns no tool alone.
    pub whole: Vec<Verdict>,
    /// The declarations that could be read, as they came.
    #[serde(skip)]
    pub declared: Vec<Tool>,
    /// Each tool.
    pub tools: Vec<ToolReport>,
    /// Whether it was stopped before all of them were checked.
    pub stopped: bool,
    /// What was looked at; findings name it by its place.
    #[serde(skip)]
    pub evidence: Vec<Evidence>,
}

/// Something that was looked at, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What it is, for people.
    pub title: String,
    /// The arguments of the call, if it was one.
    pub arguments: Option<RawJson>,
    /// The declaration, the result or the error; its start, if it is very long.
    pub text: String,
    /// Its whole length in bytes.
    pub bytes: usize,
}

impl Evidence {
    /// The longest text that is kept of one answer, in bytes.
    const LONGEST: usize = 256 << 10;

    pub(super) fn of(title: String, arguments: Option<&RawJson>, text: &str) -> Self {
        let kept = text[..text.floor_char_boundary(Self::LONGEST)].to_owned();
        Self { title, arguments: arguments.cloned(), text: kept, bytes: text.len() }
    }
}

/// What was found of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolReport {
    /// Its name.
    pub name: String,
    /// How often it was called.
    pub calls: u32,
    /// Why it was not called, if it was not.
    pub skipped: Option<String>,
    /// What it was called with, for each case that was made.
    pub called: Vec<Called>,
    /// What the caller can give so that more of it is checked.
    pub wants: Vec<Want>,
    /// What could not be reached, for people.
    pub notes: Vec<String>,
    /// Each requirement.
    pub verdicts: Vec<Verdict>,
}

/// The arguments of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Called {
    /// Normal, empty or failing; whatever else was asked for had the arguments of the normal one.
    pub case: Case,
    /// They, as they were sent.
    pub arguments: RawJson,
}

/// What a caller can give for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// That it is called although it warns.
    Allow,
    /// The arguments of a call that gives something.
    Normal,
    /// The arguments of a call that finds nothing.
    Empty,
    /// The arguments of a call that fails.
    Failing,
}

/// The state of one requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The requirement.
    pub check: Check,
    /// What was found, in one word.
    pub status: Status,
    /// What is not kept.
    pub findings: Vec<Finding>,
}

/// The state of a requirement in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing that was done shows it; no pass.
    NotChecked,
    /// It was looked at, and kept.
    Kept,
    /// A recommendation is not kept.
    #[serde(rename = "recommended")]
    Advice,
    /// It is broken.
    Broken,
}

impl Report {
    /// Everything that is not kept, with the tool that it concerns.
    pub fn findings(&self) -> impl Iterator<Item = (Option<&str>, &Finding)> {
        let of_tools =
            self.tools.iter().flat_map(|tool| tool.verdicts.iter().map(move |it| (Some(tool), it)));
        let all = self.whole.iter().map(|it| (None, it)).chain(of_tools);
        all.flat_map(|(tool, it)| {
            it.findings.iter().map(move |found| (tool.map(|it| it.name.as_str()), found))
        })
    }

    /// Whether the server broke its contract; with `strict` also whether a recommendation is not kept.
    pub fn is_broken(&self, strict: bool) -> bool {
        self.findings().any(|(_, it)| strict || it.level == Level::Broken)
    }
}

impl Verdict {
    /// The states of these requirements, in their order, and of whatever else was found.
    pub fn list(applicable: &[Check], judgement: Judgement) -> Vec<Self> {
        let mut checks: Vec<Check> = applicable.to_vec();
        checks.extend(judgement.findings.iter().map(|it| it.check));
        checks.sort_unstable();
        checks.dedup();
        let of = |check: Check| {
            let findings: Vec<Finding> =
                judgement.findings.iter().filter(|it| it.check == check).cloned().collect();
            let status = match findings.iter().map(|it| it.level).max() {
                Some(Level::Broken) => Status::Broken,
                Some(Level::Advice) => Status::Advice,
                None if judgement.looked.contains(&check) => Status::Kept,
                None => Status::NotChecked,
            };
            Self { check, status, findings }
        };
        checks.into_iter().map(of).collect()
    }
}
