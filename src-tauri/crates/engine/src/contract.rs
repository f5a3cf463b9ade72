//! Whether a server keeps its contract: judgements over declarations and results that somebody else collected.
//!
//! [`outputs`] judges servers that direct outputs to audiences (S01 to S12 and S14 of the audience-routing proposal), [`legacy`] the seven
//! defects of structured content that produce no error message, [`arguments`] what a tool may be called with, and [`pasted`] one result
//! and one schema without a server. What [`crate::declaration`], [`crate::routing`] and [`crate::validation`] find is not judged again:
//! a [`Finding`] names the host's rule that found it. Deliberately absent: calls, and the order in which they are made.

pub mod arguments;
pub mod legacy;
pub mod outputs;
pub mod pasted;
mod remedy;

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize, Serializer};
use usher_protocol::Rule;

use crate::validation::{Problem, Verdict};

macro_rules! numbered {
    ($(#[$about:meta])* $name:ident { $($id:ident $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $text] $id,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$id),*];

            fn id(self) -> &'static str {
                match self { $(Self::$id => stringify!($id),)* }
            }

            fn text(self) -> &'static str {
                match self { $(Self::$id => $text,)* }
            }
        }
    };
}

numbered! {
    /// The seven defects of structured content that produce no error message (2025-11-25 server/tools, "Structured Content").
    Legacy {
        L1 "A tool that declares an outputSchema answers with structuredContent.",
        L2 "structuredContent fits the declared outputSchema.",
        L3 "A field has the same type in a normal, an empty and a failing call.",
        L4 "content is not empty.",
        L5 "(should) The text of content carries the same data as structuredContent.",
        L6 "(should) A failed operation is a result with isError, not a JSON-RPC error.",
        L7 "outputSchema describes structuredContent, not the result around it.",
    }
}

numbered! {
    /// What every server owes, whatever its tools are.
    Wire {
        W1 "stdout carries whole messages, one a line, and nothing else.",
        W2 "Messages are UTF-8.",
        W3 "Each request is answered.",
        W4 "The server runs until it is asked to end.",
        W5 "(should) A request is answered once, and not after it was cancelled.",
        W6 "A request that the server does not know is answered with an error.",
        W7 "Declarations and results have the shape of the revision.",
    }
}

/// Something that a server owes, by the number that reports name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// A requirement of the proposal for servers, S01 to S14.
    Server(Rule),
    /// One of the seven.
    Legacy(Legacy),
    /// What every server owes.
    Wire(Wire),
}

impl Check {
    /// Its number, such as `S07`, `L2` or `W1`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Server(rule) => rule.id(),
            Self::Legacy(it) => it.id(),
            Self::Wire(it) => it.id(),
        }
    }

    /// What is owed, in a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::Server(rule) => rule.text(),
            Self::Legacy(it) => it.text(),
            Self::Wire(it) => it.text(),
        }
    }

    /// What the server's developer does about it, in a sentence or two.
    pub fn remedy(self) -> &'static str {
        remedy::of(self.id())
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The specification says SHOULD, or the finding rests on a reading of words.
    #[serde(rename = "recommended")]
    Advice,
    /// The contract is broken.
    Broken,
}

/// What was looked at when something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// The declaration.
    Declaration,
    /// A call that gives something.
    Normal,
    /// A call that finds nothing.
    Empty,
    /// A call that fails.
    Failing,
    /// A call that asks for no outputs.
    Fallback,
    /// A call whose selection must be refused.
    Refusal,
    /// A declaration or a call under an earlier revision.
    Projection,
    /// The process and its stream.
    Process,
}

impl Case {
    /// The case in a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declaration => "declaration",
            Self::Normal => "normal call",
            Self::Empty => "empty call",
            Self::Failing => "failing call",
            Self::Fallback => "call without a selection",
            Self::Refusal => "call with a wrong selection",
            Self::Projection => "earlier revision",
            Self::Process => "process",
        }
    }
}

/// A server does not keep something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it owes.
    pub check: Check,
    /// How much that weighs.
    pub level: Level,
    /// Where it showed.
    pub case: Case,
    /// The host's rule that found it, where a host has one.
    pub by: Option<Rule>,
    /// What is wrong, for people. Quotes the server.
    pub text: String,
    /// A JSON pointer into what was looked at: the declaration, the result or the error.
    pub pointer: Option<String>,
    /// Every place that does not fit a schema, the first twenty, with pointers into what was looked at.
    pub problems: Vec<Problem>,
    /// Which of the report's evidence was looked at.
    pub evidence: Option<u32>,
}

/// A program that reads it gets what a person does: what is owed and what to do, and no number of an evidence that it does not have.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            check: Check,
            owed: &'static str,
            level: Level,
            case: Case,
            by: Option<Rule>,
            text: &'a str,
            pointer: Option<&'a str>,
            #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
            problems: &'a [Problem],
            remedy: &'static str,
        }
        Written {
            check: self.check,
            owed: self.check.text(),
            level: self.level,
            case: self.case,
            by: self.by,
            text: &self.text,
            pointer: self.pointer.as_deref(),
            problems: &self.problems,
            remedy: self.check.remedy(),
        }
        .serialize(serializer)
    }
}

impl Finding {
    /// A finding without a place.
    pub fn of(check: Check, level: Level, case: Case, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { check, level, case, by: None, text, pointer: None, problems: Vec::new(), evidence: None }
    }

    /// Found by a rule of the host.
    #[must_use]
    pub fn by(self, rule: impl Into<Option<Rule>>) -> Self {
        Self { by: rule.into(), ..self }
    }

    /// At a place of what was looked at.
    #[must_use]
    pub fn at(self, pointer: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), ..self }
    }

    /// At the places that a verdict names; `base` is where the value stands that was validated.
    #[must_use]
    pub fn places(self, base: &str, verdict: &Verdict) -> Self {
        let Verdict::Violates { problems, .. } = verdict else { return self.at(base) };
        let problems: Vec<Problem> = problems
            .iter()
            .map(|it| Problem { pointer: format!("{base}{}", it.pointer), message: it.message.clone() })
            .collect();
        let first = problems.first().map_or_else(|| base.to_owned(), |it| it.pointer.clone());
        Self { problems, ..self.at(first) }
    }
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Every check that had something to look at; one without a finding is kept.
    pub looked: BTreeSet<Check>,
    /// What is not kept.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// Notes that a check had something to look at.
    pub fn look(&mut self, check: Check) {
        self.looked.insert(check);
    }

    /// Notes that a check is not kept.
    pub fn find(
        &mut self,
        check: Check,
        level: Level,
        case: Case,
        by: Option<Rule>,
        text: impl Into<String>,
    ) {
        self.put(Finding::of(check, level, case, text).by(by));
    }

    /// Notes a finding.
    pub fn put(&mut self, finding: Finding) {
        self.looked.insert(finding.check);
        // The same defect in many calls is one finding.
        if !self.findings.iter().any(|it| it.check == finding.check && it.text == finding.text) {
            self.findings.push(finding);
        }
    }

    /// Says what was looked at, where a finding does not say so already.
    #[must_use]
    pub fn seen_in(mut self, evidence: u32) -> Self {
        self.findings.iter_mut().for_each(|it| it.evidence = it.evidence.or(Some(evidence)));
        self
    }

    /// Takes over another.
    pub fn add(&mut self, other: Self) {
        self.looked.extend(other.looked);
        other.findings.into_iter().for_each(|it| self.put(it));
    }

    /// Whether a check was found to be not kept.
    pub fn finds(&self, check: Check) -> bool {
        self.findings.iter().any(|it| it.check == check)
    }

    /// Makes findings that only repeat another one part of it: with a selection that is answered wrongly (S04), a call without one
    /// (S05) and one that fails (S10) are answered wrongly for the same reason; and a payload that is not the variant's (S07, S04) makes
    /// its projection (S12) wrong too.
    pub fn fold(&mut self) {
        let s = Check::Server;
        let broken = |it: &Self, rules: &[Rule]| rules.iter().any(|rule| it.finds(s(*rule)));
        if broken(self, &[Rule::S04]) {
            let again: Vec<Finding> = std::mem::take(&mut self.findings);
            for finding in again {
                let repeats = finding.check == s(Rule::S05) || finding.check == s(Rule::S10);
                let check = if repeats { s(Rule::S04) } else { finding.check };
                self.put(Finding { check, ..finding });
            }
        }
        if broken(self, &[Rule::S02, Rule::S04, Rule::S05, Rule::S07]) {
            self.findings.retain(|it| it.check != s(Rule::S12));
        }
    }
}
