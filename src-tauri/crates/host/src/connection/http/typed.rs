//! What rmcp's transport is shown of a message: what it needs to choose headers and to keep its books, and nothing of what it carries.

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult, CustomNotification, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetExtensions as _, GetMeta as _, RequestId,
};
use serde::Deserialize;
use serde_json::{Value, json};
use usher_protocol::{
    RawJson,
    jsonrpc::{Id, Message},
};

use super::Outgoing;

/// What the headers of a request say of it (2026-07-28 basic/transports/streamable-http, "Request Headers").
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Shown {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
    #[serde(rename = "_meta", default)]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", default)]
    version: Option<String>,
}

/// Makes the message that rmcp is given. The text itself travels beside it.
pub(super) fn message(outgoing: Outgoing) -> Result<ClientJsonRpcMessage, String> {
    match &outgoing.message {
        Message::Request { id, method, params } => {
            let mut request = request(method, params.as_ref(), &outgoing.line)?;
            let id = rmcp_id(id);
            request.extensions_mut().insert(outgoing);
            Ok(ClientJsonRpcMessage::request(request, id))
        }
        Message::Notification { method, .. } => {
            let mut notification = notification(method, &outgoing.line)?;
            notification.extensions_mut().insert(outgoing);
            Ok(ClientJsonRpcMessage::notification(notification))
        }
        // Answers are small, and rmcp sends them as they are.
        Message::Response { id, result } => {
            let result = ClientResult::CustomResult(CustomResult::new(result.to_value()));
            Ok(ClientJsonRpcMessage::response(result, rmcp_id(id)))
        }
        Message::Error { id, error } => {
            let code = i32::try_from(error.code).unwrap_or(ErrorCode::INTERNAL_ERROR.0);
            let data = error.data.as_ref().map(RawJson::to_value);
            let error = ErrorData::new(ErrorCode(code), error.message.clone(), data);
            Ok(ClientJsonRpcMessage::error(error, id.as_ref().map(rmcp_id)))
        }
    }
}

pub(super) fn rmcp_id(id: &Id) -> RequestId {
    match id {
        Id::Number(number) => RequestId::Number(*number),
        Id::Text(text) => RequestId::String(text.as_str().into()),
    }
}

fn request(method: &str, params: Option<&RawJson>, line: &str) -> Result<ClientRequest, String> {
    // rmcp's transport knows an opening by its type.
    if matches!(method, "initialize" | "server/discover") {
        let typed: ClientRequest = serde_json::from_str(line).map_err(|error| error.to_string())?;
        return Ok(typed);
    }
    let shown: Shown = params.and_then(|it| it.to().ok()).unwrap_or_default();
    let mut seen = serde_json::Map::new();
    for (key, value) in [("name", shown.name), ("uri", shown.uri), ("taskId", shown.task_id)] {
        if let Some(value) = value {
            seen.insert(key.to_owned(), Value::String(value));
        }
    }
    let mut request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(Value::Object(seen))));
    if let Some(version) = shown.meta.and_then(|it| it.version) {
        let version = serde_json::from_value(json!(version)).map_err(|error| error.to_string())?;
        request.get_meta_mut().set_protocol_version(version);
    }
    Ok(request)
}

fn notification(method: &str, line: &str) -> Result<ClientNotification, String> {
    if matches!(method, "notifications/initialized" | "notifications/cancelled") {
        return serde_json::from_str(line).map_err(|error| error.to_string());
    }
    Ok(ClientNotification::CustomNotification(CustomNotification::new(method, None)))
}
