//! The tools that Views offer themselves, as the window reads them, and what Views answer.
//!
//! Deliberately absent: what is taken of a View's list, and who may call, which are the host's.

use usher_host::{app_view::own_tools::OwnTools, conversation::ViewReply};
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

use super::{
    ApiError,
    answers::refuse,
    types::{OwnToolView, OwnToolsView, ViewAnswer},
};

pub(super) fn taken(it: &OwnTools) -> OwnToolsView {
    let tools = it.tools.iter().map(|tool| OwnToolView {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema_json: tool.input_schema.get().to_owned(),
        read_only: tool.annotations.read_only_hint == Some(true),
        destructive: tool.annotations.destructive_hint == Some(true),
    });
    OwnToolsView { tools: tools.collect(), left_out: it.left_out.clone() }
}

pub(super) fn answer(reply: ViewReply) -> ViewAnswer {
    match reply {
        ViewReply::Result(json) => ViewAnswer::Result { json: json.get().to_owned() },
        ViewReply::Error(error) => ViewAnswer::Error {
            // A code that is no code of JSON-RPC is told in words alone.
            code: i32::try_from(error.code).unwrap_or(-32000),
            from_server: error.data.is_some(),
            message: error.message,
        },
    }
}

/// Reads what the page says that a View answered.
pub(super) fn reply(answer: ViewAnswer) -> Result<ViewReply, ApiError> {
    Ok(match answer {
        ViewAnswer::Result { json } => {
            let parsed = RawJson::parse(json);
            let parsed =
                parsed.map_err(|error| refuse(format!("The answer is not JSON: {error}."), "Correct it."));
            ViewReply::Result(parsed?)
        }
        ViewAnswer::Error { code, message, .. } => ViewReply::Error(ErrorObject::new(code.into(), message)),
    })
}
