//! What servers ask the person: forms, addresses, and words of the model; and what each may have without asking.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::WishView;

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
    /// Whether the server may send this to the model.
    Sample { request: SampleRequestView },
    /// Whether the server may have what the model wrote.
    SampleAnswer { answer: SampleAnswerView },
    /// Whether the server's Views may have something beyond their own pages: every domain in full, and every feature.
    ViewAccess { wishes: Vec<WishView> },
    /// Whether words of a View, exactly these, may reach the model: as a message, or kept before it.
    ViewWords {
        /// The tool that the View shows.
        tool: String,
        is_message: bool,
        text: String,
        /// The pictures that would follow them.
        pictures: Vec<ViewPictureView>,
        /// What the View said beside them, such as `2 sounds`; the model does not get it.
        left_out: Option<String>,
    },
    /// Whether an address of a View may be opened outside.
    ViewLink { tool: String, url: String, host: String },
    /// Whether files of a View may be saved in a folder.
    ViewFiles { tool: String, files: Vec<ViewFileView>, folder: String },
}

/// A picture that a View would show to the model.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ViewPictureView {
    /// Opens it as it would go.
    pub url: String,
    pub mime: String,
    #[ts(type = "number")]
    pub bytes: u64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// A file that a View would have saved.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ViewFileView {
    pub name: String,
    /// How large it is, if the View sent it.
    #[ts(type = "number | null")]
    pub bytes: Option<u64>,
    /// The address at the View's server from which it is read after a yes; its size is not known before.
    pub from: Option<String>,
}

/// What a server wants to send to the model, whole and in order.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SampleRequestView {
    pub system: Option<String>,
    pub messages: Vec<SampleMessageView>,
    pub model: String,
    pub url: String,
    #[ts(type = "number")]
    pub max_tokens: u64,
    /// The size of the request, in bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// The tool whose call makes the server ask.
    pub tool: String,
    /// The title of that call's conversation.
    pub conversation: String,
    /// What of the server's wishes is not followed.
    pub remarks: Vec<String>,
    /// Whether it is a View of the server that asks.
    pub by_view: bool,
}

/// A message that a server wants to send to the model.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SampleMessageView {
    /// Whether the model is to take it for its own words.
    pub is_assistant: bool,
    pub text: String,
}

/// What the model wrote for a server.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SampleAnswerView {
    pub model: String,
    pub text: String,
    /// Why it is not whole, if it is not.
    pub cut: Option<String>,
    pub exchange_id: String,
    pub conversation_id: String,
    /// Whether it is for a View of the server.
    pub by_view: bool,
}

/// What the person lets a server have.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ServerTrustView {
    /// Whether it may ask the model; the person is asked each time.
    pub asks_model: bool,
    /// The folders that it is told of, as whole paths.
    pub roots: Vec<String>,
    /// From which level on it is to tell what it does.
    pub log_level: Option<LogLevelName>,
}

/// How important a message of a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum LogLevelName {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
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
    /// Agrees to a message of a View and to its later ones, until it is closed.
    AcceptForView,
    Decline,
    Cancel,
    /// Says no, and ends the View that asks.
    StopView,
}
