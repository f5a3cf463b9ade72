//! The two schemes of the window: a View's document and an output's media. Only the main web view may load from them.
//!
//! WebKitGTK shows a picture from a scheme but plays nothing from it: its player knows http and blob addresses only. The page
//! therefore fetches sound and film into a blob, and media answers name the page's origin as the one that may read them. A View has
//! another origin and may not.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use tauri::{Builder, UriSchemeResponder, Wry};

use super::window::MAIN;
use crate::api::{
    WindowHost,
    serve::{self, Served},
};

/// The origin of the window's page.
pub(super) const PAGE_ORIGIN: &str =
    if cfg!(windows) { "http://tauri.localhost" } else { "tauri://localhost" };

/// Adds the schemes.
pub(super) fn register<H: WindowHost>(
    builder: Builder<Wry>,
    runtime: &tokio::runtime::Handle,
    host: &Arc<H>,
) -> Builder<Wry> {
    let view_host = Arc::clone(host);
    let media_host = Arc::clone(host);
    let runtime = runtime.clone();
    builder
        .register_asynchronous_uri_scheme_protocol(serve::VIEW_SCHEME, move |context, request, responder| {
            let served = match serve::view_address(&request) {
                Ok((label, path)) if context.webview_label() == MAIN => {
                    let served = view_host.view_document(label, path);
                    served.unwrap_or_else(|| Served::nothing(StatusCode::NOT_FOUND))
                }
                Ok(_) => Served::nothing(StatusCode::NOT_FOUND),
                Err(status) => Served::nothing(status),
            };
            answer(responder, served);
        })
        .register_asynchronous_uri_scheme_protocol(serve::MEDIA_SCHEME, move |context, request, responder| {
            let (handle, index) = match serve::media_address(&request) {
                Ok(address) if context.webview_label() == MAIN => address,
                Ok(_) => return answer(responder, Served::nothing(StatusCode::NOT_FOUND)),
                Err(status) => return answer(responder, Served::nothing(status)),
            };
            let range = request.headers().get(header::RANGE).cloned();
            let host = Arc::clone(&media_host);
            runtime.spawn(async move {
                let served = host.media(&handle, index).await;
                let mut served = served.unwrap_or_else(|| Served::nothing(StatusCode::NOT_FOUND));
                served
                    .headers
                    .insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static(PAGE_ORIGIN));
                answer(responder, serve::with_range(served, range.as_ref()));
            });
        })
}

fn answer(responder: UriSchemeResponder, served: Served) {
    let response: Response<Bytes> = served.into_response();
    responder.respond(response.map(|body| body.to_vec()));
}
