//! What servers ask, and what they may have, as the window reads it.

use usher_host::{connection::LoggingLevel, conversation as host};

use super::{access, types as view, view::media_url};

pub(super) fn question(it: host::QuestionRecord) -> view::QuestionView {
    let asked = match it.asked {
        host::Asked::Form { message, fields } => {
            view::AskedView::Form { message, fields: fields.into_iter().map(field).collect() }
        }
        host::Asked::Url { message, url, host } => view::AskedView::Url { message, url, host },
        host::Asked::Sample(it) => view::AskedView::Sample { request: sample(*it) },
        host::Asked::SampleAnswer(it) => view::AskedView::SampleAnswer {
            answer: view::SampleAnswerView {
                model: it.model,
                text: it.text,
                cut: it.cut,
                exchange_id: it.exchange_id,
                conversation_id: it.conversation_id,
                by_view: it.by_view.is_some(),
            },
        },
        host::Asked::ViewAccess { wishes } => {
            view::AskedView::ViewAccess { wishes: wishes.into_iter().map(access::wish).collect() }
        }
        host::Asked::ViewWords { view, is_message, text, pictures, left_out } => view::AskedView::ViewWords {
            tool: view.tool,
            is_message,
            text,
            pictures: pictures.map(view_pictures).unwrap_or_default(),
            left_out,
        },
        host::Asked::ViewFiles { view, files, folder } => {
            let file = |it: host::ViewFile| {
                let (bytes, from) = match it.body {
                    host::ViewFileBody::Sent(bytes) => (Some(bytes), None),
                    host::ViewFileBody::AtServer(uri) => (None, Some(uri)),
                };
                view::ViewFileView { name: it.name, bytes, from }
            };
            view::AskedView::ViewFiles {
                tool: view.tool,
                files: files.into_iter().map(file).collect(),
                folder,
            }
        }
        host::Asked::ViewLink { view, url, host } => view::AskedView::ViewLink { tool: view.tool, url, host },
    };
    view::QuestionView { id: it.id, server_name: it.server_name, asked }
}

fn view_pictures(of: host::ViewPictures) -> Vec<view::ViewPictureView> {
    let picture = |(index, it): (usize, host::ViewPicture)| view::ViewPictureView {
        url: media_url(&of.handle, index),
        mime: it.mime,
        bytes: it.bytes,
        width: it.width,
        height: it.height,
    };
    of.pictures.into_iter().enumerate().map(picture).collect()
}

pub(super) fn answer(action: view::QuestionAction, content_json: Option<String>) -> host::QuestionAnswer {
    match action {
        view::QuestionAction::Accept => host::QuestionAnswer::Accept(content_json),
        view::QuestionAction::AcceptForView => host::QuestionAnswer::AcceptForView,
        view::QuestionAction::Decline => host::QuestionAnswer::Decline,
        view::QuestionAction::Cancel => host::QuestionAnswer::Cancel,
        view::QuestionAction::StopView => host::QuestionAnswer::StopView,
    }
}

fn field(it: host::Field) -> view::FieldView {
    let choices = |all: Vec<host::Choice>| {
        all.into_iter().map(|it| view::ChoiceView { value: it.value, title: it.title }).collect()
    };
    let input = match it.kind {
        host::FieldKind::Text { format, max, .. } => {
            view::FieldInput::Text { format, max: max.and_then(|it| u32::try_from(it).ok()) }
        }
        host::FieldKind::Number { whole, min, max } => view::FieldInput::Number { whole, min, max },
        host::FieldKind::Switch => view::FieldInput::Switch,
        host::FieldKind::One(all) => view::FieldInput::One { choices: choices(all) },
        host::FieldKind::Many(all) => view::FieldInput::Many { choices: choices(all) },
    };
    view::FieldView {
        name: it.name,
        title: it.title,
        description: it.description,
        required: it.required,
        input,
        default_json: it.default.map(|it| it.to_string()),
    }
}

fn sample(it: host::SampleRequest) -> view::SampleRequestView {
    let message =
        |it: host::SampleMessage| view::SampleMessageView { is_assistant: it.is_assistant, text: it.text };
    view::SampleRequestView {
        system: it.system,
        messages: it.messages.into_iter().map(message).collect(),
        model: it.model,
        url: it.url,
        max_tokens: it.max_tokens,
        bytes: it.bytes,
        tool: it.tool,
        conversation: it.conversation,
        remarks: it.remarks,
        by_view: it.by_view.is_some(),
    }
}

pub(super) fn trust(it: host::ServerTrust) -> view::ServerTrustView {
    let level = |it: LoggingLevel| match it {
        LoggingLevel::Debug => view::LogLevelName::Debug,
        LoggingLevel::Info => view::LogLevelName::Info,
        LoggingLevel::Notice => view::LogLevelName::Notice,
        LoggingLevel::Warning => view::LogLevelName::Warning,
        LoggingLevel::Error => view::LogLevelName::Error,
        LoggingLevel::Critical => view::LogLevelName::Critical,
        LoggingLevel::Alert => view::LogLevelName::Alert,
        LoggingLevel::Emergency => view::LogLevelName::Emergency,
    };
    view::ServerTrustView { asks_model: it.asks_model, roots: it.roots, log_level: it.log_level.map(level) }
}

pub(super) fn trust_of(it: view::ServerTrustView) -> host::ServerTrust {
    let level = |it: view::LogLevelName| match it {
        view::LogLevelName::Debug => LoggingLevel::Debug,
        view::LogLevelName::Info => LoggingLevel::Info,
        view::LogLevelName::Notice => LoggingLevel::Notice,
        view::LogLevelName::Warning => LoggingLevel::Warning,
        view::LogLevelName::Error => LoggingLevel::Error,
        view::LogLevelName::Critical => LoggingLevel::Critical,
        view::LogLevelName::Alert => LoggingLevel::Alert,
        view::LogLevelName::Emergency => LoggingLevel::Emergency,
    };
    host::ServerTrust { asks_model: it.asks_model, roots: it.roots, log_level: it.log_level.map(level) }
}

pub(super) fn choice(it: view::ApprovalChoice) -> host::ApprovalChoice {
    match it {
        view::ApprovalChoice::Once => host::ApprovalChoice::Once,
        view::ApprovalChoice::Conversation => host::ApprovalChoice::Conversation,
        view::ApprovalChoice::Tool => host::ApprovalChoice::Tool,
        view::ApprovalChoice::Server => host::ApprovalChoice::Server,
        view::ApprovalChoice::Refuse => host::ApprovalChoice::Refuse,
        view::ApprovalChoice::Never => host::ApprovalChoice::Never,
    }
}
