//! The window that says why Usher cannot start. It is one page without script, and it can do nothing.

use http::{Response, header};
use tauri::{WebviewUrl, WebviewWindowBuilder, webview::NewWindowResponse};

use crate::api::ApiError;

/// The scheme of the one page.
const SCHEME: &str = "usher-failure";

/// What the page may do: be seen.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// Shows the error until the window is closed.
pub(super) fn show(error: &ApiError) -> anyhow::Result<()> {
    let page = page(error);
    let app = tauri::Builder::default()
        .register_uri_scheme_protocol(SCHEME, move |_, _| {
            let mut response = Response::new(page.clone().into_bytes());
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("text/html; charset=utf-8"));
            headers.insert(header::CONTENT_SECURITY_POLICY, http::HeaderValue::from_static(POLICY));
            response
        })
        .setup(|app| {
            let address = if cfg!(windows) {
                format!("http://{SCHEME}.localhost/")
            } else {
                format!("{SCHEME}://localhost/")
            };
            WebviewWindowBuilder::new(app, "failure", WebviewUrl::CustomProtocol(address.parse()?))
                .title("Usher cannot start")
                .inner_size(640.0, 360.0)
                .on_navigation(|url| {
                    url.scheme() == SCHEME || url.host_str() == Some("usher-failure.localhost")
                })
                .on_new_window(|_, _| NewWindowResponse::Deny)
                .build()?;
            Ok(())
        })
        .build(tauri::generate_context!())?;
    app.run_return(|_, _| {});
    Ok(())
}

fn page(error: &ApiError) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Usher cannot start</title>\
         <style>:root{{color-scheme:light dark}}body{{font:16px/1.5 system-ui,sans-serif;margin:3rem;max-width:34rem}}</style>\
         <main role=\"alert\"><h1>Usher cannot start</h1><p>{}</p><p>{}</p><p><strong>{}</strong></p></main></html>",
        escape(&error.what),
        escape(&error.safe),
        escape(&error.todo),
    )
}

/// The text may hold a path or a message of the system.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_error_is_never_markup() {
        let error = ApiError { what: "<b>&".to_owned(), safe: String::new(), todo: String::new() };
        assert!(page(&error).contains("<p>&lt;b&gt;&amp;</p>"));
    }
}
