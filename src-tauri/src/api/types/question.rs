//! What servers ask the person: forms and addresses.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A question of a server that waits for an answer.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct QuestionView {
    pub id: String,
    /// The name of the server that asks.
    pub server_name: String,
    pub asked: AskedView,
}

/// What is asked. The texts are the server's own.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum AskedView {
    /// A form.
    Form { message: String, fields: Vec<FieldView> },
    /// An address to visit; its host stands apart, so that look-alikes show.
    Url { message: String, url: String, host: String },
}

/// Something to fill in.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct FieldView {
    pub name: String,
    pub title: String,
    pub description: Option<String>,
    pub required: bool,
    pub input: FieldInput,
    /// What it holds at first, as JSON.
    pub default_json: Option<String>,
}

/// What kind of value a field takes.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum FieldInput {
    Text {
        format: Option<String>,
        max: Option<u32>,
    },
    /// Limits are as the server wrote them.
    Number {
        whole: bool,
        min: Option<String>,
        max: Option<String>,
    },
    Switch,
    One {
        choices: Vec<ChoiceView>,
    },
    Many {
        choices: Vec<ChoiceView>,
    },
}

/// Something to choose.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ChoiceView {
    pub value: String,
    pub title: String,
}

/// What the person does with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum QuestionAction {
    Accept,
    Decline,
    Cancel,
}
