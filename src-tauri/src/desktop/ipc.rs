//! The two commands of the page.
//!
//! They are dispatched by hand because Tauri's command macro cannot be generic over the host. The access list in
//! `src-tauri/capabilities` was applied before anything arrives here.

use std::sync::Arc;

use serde::Deserialize;
use tauri::ipc::{Channel, Invoke, InvokeBody, InvokeError, InvokeResponseBody, JavaScriptChannelId};

use crate::api::{ApiError, Command, WindowHost, types::UiBatch};

/// The parameters of `rpc`.
#[derive(Deserialize)]
struct Rpc {
    request: Command,
}

/// The parameters of `subscribe`.
#[derive(Deserialize)]
struct Subscribe {
    since: Option<u64>,
    channel: JavaScriptChannelId,
}

/// Answers the page.
pub(super) fn handler<H: WindowHost>(host: Arc<H>) -> impl Fn(Invoke) -> bool + Send + Sync + 'static {
    move |invoke| {
        match invoke.message.command() {
            "rpc" => rpc(invoke, Arc::clone(&host)),
            "subscribe" => subscribe(invoke, &host),
            _ => return false,
        }
        true
    }
}

/// Runs a command. Its answer is JSON text and crosses the bridge as one string.
fn rpc<H: WindowHost>(invoke: Invoke, host: Arc<H>) {
    match parameters::<Rpc>(invoke.message.payload()) {
        Err(error) => invoke.resolver.reject(error),
        Ok(Rpc { request }) => invoke.resolver.respond_async(async move {
            request.run(host.as_ref()).await.map_err(|error| rejection(&error))
        }),
    }
}

fn subscribe<H: WindowHost>(invoke: Invoke, host: &Arc<H>) {
    match parameters::<Subscribe>(invoke.message.payload()) {
        Err(error) => invoke.resolver.reject(error),
        Ok(Subscribe { since, channel }) => {
            let channel: Channel<InvokeResponseBody> = channel.channel_on(invoke.message.webview());
            let sink = Box::new(move |batch: &UiBatch| {
                serde_json::to_string(batch)
                    .is_ok_and(|json| channel.send(InvokeResponseBody::Json(json)).is_ok())
            });
            let snapshot = host.subscribe(since, sink);
            invoke.resolver.resolve(snapshot);
        }
    }
}

fn parameters<'a, T: Deserialize<'a>>(body: &'a InvokeBody) -> Result<T, ApiError> {
    let read = match body {
        InvokeBody::Json(value) => T::deserialize(value).map_err(|error| error.to_string()),
        InvokeBody::Raw(_) => Err("bytes came where JSON was expected".to_owned()),
    };
    read.map_err(|error| ApiError {
        what: format!("The window sent a command that is not understood: {error}."),
        safe: "Nothing was changed by this.".to_owned(),
        todo: "Please report it.".to_owned(),
    })
}

fn rejection(error: &ApiError) -> InvokeError {
    serde_json::to_value(error).map_or_else(InvokeError::from_error, InvokeError)
}
