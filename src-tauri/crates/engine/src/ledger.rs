//! The closed list of facts about routing, each of which can say itself in a line.
//!
//! The debug panel and the command line render these lines, and the tests compare them. Deliberately absent: time and sequence, which
//! the host's conversations add.

use serde::{Deserialize, Serialize};
use usher_protocol::{
    Revision, Rule,
    model::{Audience, Selector},
};

use crate::{
    Consumer, Defect, Mode, Origin,
    comparison::Comparison,
    routing::{Door, Notice, Source},
    selection::Reason,
    validation::Verdict,
};

/// A fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum LedgerEntry {
    /// A call's outputs were chosen (H10-H18).
    Selected {
        /// `server / tool`.
        tool: String,
        /// The mode.
        mode: Mode,
        /// Who calls.
        origin: Origin,
        /// The request's revision.
        revision: Revision,
        /// What is sent; `None` sends no selection.
        requested: Option<Vec<Selector>>,
        /// How many variants the tool declares.
        declared: usize,
        /// Why.
        reasons: Vec<Reason>,
    },
    /// A call was not made.
    CallRefused {
        /// The tool.
        tool: String,
        /// The rule, if a numbered one.
        rule: Option<Rule>,
        /// Why.
        why: String,
    },
    /// A result came.
    Received {
        /// Its size in bytes.
        bytes: u64,
        /// What it has, in order.
        outputs: Vec<String>,
        /// Whether the tool says that it failed.
        is_error: bool,
    },
    /// The server did something wrong.
    Defect(Defect),
    /// A payload was checked against the schema of its own variant (H04, H05).
    Validated {
        /// What was checked.
        source: Source,
        /// The outcome.
        verdict: Verdict,
    },
    /// The two halves of a result of an earlier revision do not say the same.
    Compared {
        /// How they differ.
        comparison: Comparison,
        /// The half that the model read, if it read one of them.
        read: Option<Half>,
    },
    /// A part reached a consumer.
    Delivered {
        /// Who.
        to: Consumer,
        /// What.
        source: Source,
        /// Its size in bytes.
        bytes: u64,
        /// Why it may have it.
        door: Door,
        /// As what, such as `a table, 37 rows`.
        how: String,
        /// Opens the very bytes.
        handle: Option<String>,
    },
    /// A part reached nobody.
    Withheld {
        /// Its selector, if it is an output.
        selector: Option<Selector>,
        /// What it is.
        what: String,
        /// Its size in bytes.
        bytes: u64,
        /// The rule, if a numbered one.
        rule: Option<Rule>,
        /// Why.
        why: String,
        /// Opens the very bytes.
        handle: Option<String>,
    },
    /// The model is told something in place of an output.
    Noticed {
        /// What.
        notice: Notice,
    },
    /// The server refused the call (H32).
    Rejected {
        /// The error's code.
        code: i64,
        /// The error's text. Untrusted.
        message: String,
    },
    /// The call did not come to a result.
    Failed {
        /// What happened.
        what: String,
    },
    /// The user or a rule of theirs answered an approval.
    Approved {
        /// What was answered.
        answer: String,
    },
    /// A part went to a further consumer because somebody opened a door (H25).
    DoorOpened {
        /// Who receives it.
        to: Consumer,
        /// What it is.
        what: String,
        /// Its size in bytes.
        bytes: u64,
        /// The policy or action.
        door: Door,
        /// Opens the very bytes.
        handle: Option<String>,
    },
    /// What a door let in was taken out again, from the next request on (H25).
    DoorClosed {
        /// Who received it.
        from: Consumer,
        /// What it was.
        what: String,
        /// Who took it out, as a sentence.
        why: String,
    },
    /// Something was left out or shortened so that a request fits its model.
    Abridged {
        /// What, a sentence each.
        what: Vec<String>,
    },
    /// A request was sent to a model.
    Sent {
        /// The recorded request.
        exchange: String,
        /// Its size in bytes.
        bytes: u64,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
        /// An estimate of its tokens.
        tokens: u64,
    },
    /// A server asked the model, with the user's consent; nothing of it is part of the conversation.
    ServerAsked {
        /// The server's name.
        server: String,
        /// The recorded request.
        exchange: String,
        /// Its size in bytes.
        bytes: u64,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
        /// An estimate of its tokens.
        tokens: u64,
    },
    /// Calls that Views made and that are not kept one by one any more.
    ViewCalls {
        /// `server / tool`.
        tool: String,
        /// How many.
        calls: u64,
        /// How many of them came to no result.
        failed: u64,
        /// The size of what they brought, in bytes.
        bytes: u64,
    },
    /// The model called a tool that a View offers itself (X5).
    ViewAsked {
        /// Which View, for people.
        view: String,
        /// The tool.
        tool: String,
        /// The size of the arguments in bytes.
        bytes: u64,
    },
    /// What the model wrote for a server went to it, with the user's consent.
    ServerAnswered {
        /// The server's name.
        server: String,
        /// Its size in bytes.
        bytes: u64,
    },
}

/// A half of a result of an earlier revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// `content`.
    Content,
    /// `structuredContent`.
    Structured,
}

/// A fact as a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What kind of fact.
    pub kind: Kind,
    /// The fact.
    pub text: String,
    /// What stands at its right.
    pub detail: String,
    /// The rule, if one is named.
    pub rule: Option<Rule>,
    /// The audience that it is about.
    pub audience: Option<Audience>,
    /// More about why.
    pub reasons: Vec<String>,
    /// Opens the very bytes.
    pub handle: Option<String>,
}

/// The kinds of facts, for their icons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something was asked.
    Asked,
    /// Something came.
    Came,
    /// Something fits.
    Fits,
    /// Something is wrong.
    Defect,
    /// Something reaches nobody.
    Withheld,
    /// Something reached its consumer.
    Delivered,
    /// A policy of the product decided.
    Policy,
    /// A door was opened.
    Door,
    /// A request went to a model.
    Sent,
    /// Anything else.
    Note,
}

impl LedgerEntry {
    /// Says the fact.
    pub fn line(&self) -> Line {
        match self {
            Self::Selected { .. } => self.selected_line(),
            Self::CallRefused { tool, rule, why } => {
                Line { rule: *rule, ..plain(Kind::Defect, format!("{tool} was not called: {why}")) }
            }
            Self::Received { bytes, outputs, is_error } => {
                let what = if *is_error { "an error came" } else { "a result came" };
                Line {
                    detail: size(*bytes),
                    reasons: outputs.clone(),
                    ..plain(Kind::Came, format!("{what}: {}", list(outputs)))
                }
            }
            Self::Defect(defect) => Line { rule: defect.rule, ..plain(Kind::Defect, defect.text.clone()) },
            Self::Validated { source, verdict } => {
                let (kind, rule, reasons) = match verdict {
                    Verdict::Fits => (Kind::Fits, None, Vec::new()),
                    Verdict::NotChecked(_) => (Kind::Note, None, Vec::new()),
                    Verdict::Violates { problems, .. } => (
                        Kind::Defect,
                        source.selector().map(|_| Rule::H04),
                        problems.iter().map(|it| format!("{}: {}", it.pointer, it.message)).collect(),
                    ),
                };
                let text = format!("{} {}", source.name(), verdict.line());
                Line { rule, reasons, audience: audience_of(source), ..plain(kind, text) }
            }
            Self::Compared { comparison, .. } => compared(comparison),
            Self::Delivered { to, source, bytes, door, how, handle } => Line {
                detail: size(*bytes),
                audience: audience_of(source).or(Some(audience_for(*to))),
                reasons: door_reason(door),
                handle: handle.clone(),
                ..plain(door_kind(door), format!("{} to {}, {how}", source.name(), to.name()))
            },
            Self::Withheld { selector, what, bytes, rule, why, handle } => Line {
                detail: rule.map_or_else(|| size(*bytes), |it| it.id().to_owned()),
                rule: *rule,
                audience: selector.as_ref().map(|it| it.audience.clone()),
                handle: handle.clone(),
                ..plain(Kind::Withheld, format!("{what} withheld: {why}, {}", size(*bytes)))
            },
            Self::Noticed { notice } => plain(Kind::Note, notice.line()),
            Self::Rejected { code, message } => Line {
                detail: code.to_string(),
                rule: (*code == -32602).then_some(Rule::H32),
                ..plain(Kind::Defect, format!("the server refused the call: {message}"))
            },
            Self::Failed { what } => plain(Kind::Defect, what.clone()),
            Self::Approved { answer } => plain(Kind::Policy, answer.clone()),
            Self::DoorOpened { to, what, bytes, door, handle } => Line {
                detail: size(*bytes),
                rule: Some(Rule::H25),
                audience: Some(audience_for(*to)),
                reasons: door_reason(door),
                handle: handle.clone(),
                ..plain(Kind::Door, format!("{what} to {}", to.name()))
            },
            Self::DoorClosed { from, what, why } => Line {
                rule: Some(Rule::H25),
                audience: Some(audience_for(*from)),
                reasons: vec![why.clone()],
                ..plain(Kind::Door, format!("{what} taken back from {}", from.name()))
            },
            Self::Abridged { what } => {
                let text = "the request was shortened to fit the model";
                Line { detail: what.len().to_string(), reasons: what.clone(), ..plain(Kind::Policy, text) }
            }
            Self::Sent { bytes, sha256, tokens, .. } => Line {
                detail: size(*bytes),
                reasons: vec![format!("SHA-256 {sha256}"), format!("about {tokens} tokens")],
                ..plain(Kind::Sent, "a request was sent to the model")
            },
            Self::ServerAsked { server, bytes, sha256, tokens, .. } => Line {
                detail: size(*bytes),
                reasons: vec![format!("SHA-256 {sha256}"), format!("about {tokens} tokens")],
                ..plain(
                    Kind::Sent,
                    format!("{server} asked the model, allowed by you; outside the conversation"),
                )
            },
            Self::ViewCalls { tool, calls, failed, bytes } => {
                let failed = match failed {
                    0 => String::new(),
                    failed => format!(", {failed} of them without a result"),
                };
                Line {
                    detail: size(*bytes),
                    audience: Some(Audience::ui()),
                    reasons: vec![
                        "the newest calls of Views are kept whole; of older ones, this line".to_owned(),
                    ],
                    ..plain(Kind::Note, format!("{tool} was called {calls} times by Views before{failed}"))
                }
            }
            Self::ViewAsked { view, tool, bytes } => Line {
                detail: size(*bytes),
                audience: Some(Audience::ui()),
                ..plain(Kind::Asked, format!("the {view} is called for its own tool {tool}"))
            },
            Self::ServerAnswered { server, bytes } => Line {
                detail: size(*bytes),
                ..plain(Kind::Door, format!("what the model wrote for {server} went to it, allowed by you"))
            },
        }
    }

    /// The half of a compared result that the model read: what the user may want otherwise.
    pub fn read_half(&self) -> Option<Half> {
        if let Self::Compared { read, .. } = self { *read } else { None }
    }

    fn selected_line(&self) -> Line {
        let Self::Selected { tool, mode, revision, requested, declared, reasons, .. } = self else {
            return plain(Kind::Note, "");
        };
        let text = match requested {
            Some(requested) => {
                let names: Vec<String> = requested.iter().map(ToString::to_string).collect();
                format!(
                    "{tool} asked for {} of {declared} variants in mode {}: {}",
                    requested.len(),
                    mode.name(),
                    list(&names)
                )
            }
            None => format!("{tool} called without a selection"),
        };
        Line {
            detail: revision.to_string(),
            reasons: reasons.iter().map(Reason::line).collect(),
            ..plain(Kind::Asked, text)
        }
    }
}

fn compared(comparison: &Comparison) -> Line {
    let (text, named) = match comparison {
        Comparison::Lossy { more: 1, named, .. } => {
            ("content is a lossy summary: structuredContent has one more value".to_owned(), named)
        }
        Comparison::Lossy { more, named, .. } => {
            (format!("content is a lossy summary: structuredContent has {more} more values"), named)
        }
        Comparison::Differs { places: 1, named } => {
            ("content and structuredContent differ in one place".to_owned(), named)
        }
        Comparison::Differs { places, named } => {
            (format!("content and structuredContent differ in {places} places"), named)
        }
    };
    Line { reasons: named.clone(), ..plain(Kind::Note, text) }
}

fn plain(kind: Kind, text: impl Into<String>) -> Line {
    Line {
        kind,
        text: text.into(),
        detail: String::new(),
        rule: None,
        audience: None,
        reasons: Vec::new(),
        handle: None,
    }
}

fn audience_of(source: &Source) -> Option<Audience> {
    match source {
        Source::Output(selector) => Some(selector.audience.clone()),
        Source::ExtensionMeta(id) => Some(Audience::Extension(id.clone())),
        Source::LegacyContent | Source::LegacyStructured | Source::LegacyResult => None,
        Source::ViewAnswer => Some(Audience::ui()),
    }
}

/// The audience whose colour stands for a consumer.
fn audience_for(consumer: Consumer) -> Audience {
    match consumer {
        Consumer::Model => Audience::Assistant,
        Consumer::User => Audience::User,
        Consumer::Script => Audience::Programmatic,
        Consumer::View => Audience::ui(),
    }
}

fn door_kind(door: &Door) -> Kind {
    match door {
        Door::Contract => Kind::Delivered,
        Door::Policy(_) => Kind::Policy,
        Door::UserAction(_) => Kind::Door,
    }
}

fn door_reason(door: &Door) -> Vec<String> {
    match door {
        Door::Contract => vec!["the server made it for this consumer".to_owned()],
        Door::Policy(name) => vec![format!("policy: {name}")],
        Door::UserAction(name) => vec![format!("your action: {name}")],
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// A size for people: powers of a thousand, one decimal.
pub fn size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = (bytes.saturating_mul(10).saturating_add(unit / 2)) / unit;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}
