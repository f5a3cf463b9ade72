//! The decisions of a host under audience routing, as pure functions that explain themselves.
//!
//! [`contract`] judges whether a server keeps what it declares, [`declaration`] says which variants of a tool can be used, [`selection`]
//! what a call asks for, [`validation`] whether a payload fits the schema of its own variant, [`routing`] who receives what,
//! [`comparison`] whether the two halves of an earlier result say the same, and [`ledger`] is the closed list of facts that all of them leave behind:
//! the debug panel renders it and the tests take it as their oracle.
//!
//! Deliberately absent: time, identifiers, files, processes and every wire shape. A decision depends on its arguments only.

pub mod comparison;
pub mod contract;
pub mod declaration;
mod exact;
pub mod ledger;
pub mod routing;
mod routing_legacy;
pub mod selection;
pub mod validation;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use usher_protocol::{Rule, UI_EXTENSION, model::Audience};

/// Something that a peer did wrong, with the rule that it breaks where a numbered one exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defect {
    /// The rule.
    pub rule: Option<Rule>,
    /// What is wrong, for people.
    pub text: String,
}

impl Defect {
    /// A breach of a numbered rule.
    pub fn of(rule: Rule, text: impl Into<String>) -> Self {
        Self { rule: Some(rule), text: text.into() }
    }
}

/// The extensions that both sides advertised for the request (rules H01, H12).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions(BTreeSet<String>);

impl Extensions {
    /// The extensions with these identifiers.
    pub fn new<I: IntoIterator<Item = S>, S: Into<String>>(ids: I) -> Self {
        Self(ids.into_iter().map(Into::into).collect())
    }

    /// Only MCP Apps.
    pub fn ui() -> Self {
        Self::new([UI_EXTENSION])
    }

    /// Whether outputs for the audience may exist at all: it is a core audience, or its extension was negotiated (rule H01).
    pub fn admits(&self, audience: &Audience) -> bool {
        match audience {
            Audience::Assistant | Audience::User | Audience::Programmatic => true,
            Audience::Extension(id) => self.0.contains(id),
        }
    }
}

/// What a conversation is for: it says who listens (README, "Modes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The model reads prose; the user sees tables, media and Views.
    Chat,
    /// The model reads structured data.
    Data,
    /// Scripts call tools; the model reads what they return.
    Code,
    /// The user sees the result; the model is told so.
    Present,
    /// The model reads prose; the View gets its data.
    App,
    /// What the user chose for each tool.
    Custom,
}

impl Mode {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "Chat",
            Self::Data => "Data",
            Self::Code => "Code",
            Self::Present => "Present",
            Self::App => "App",
            Self::Custom => "Custom",
        }
    }
}

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The model, in a turn.
    Model,
    /// A script.
    Script,
    /// An App View of the same server.
    View,
    /// The user, by hand.
    User,
}

/// Who can receive something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consumer {
    /// The model's context.
    Model,
    /// The person at the window.
    User,
    /// The script that called.
    Script,
    /// The View attached to the called tool.
    View,
}

impl Consumer {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "the model",
            Self::User => "you",
            Self::Script => "the script",
            Self::View => "the View",
        }
    }
}
