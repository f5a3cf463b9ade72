//! The one window: what its pages may do, and how it ends.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use tauri::{
    App, AppHandle, Manager as _, Url, WebviewWindowBuilder, WindowEvent,
    webview::{NewWindowResponse, PermissionKind, PermissionResponse},
};

use usher_host::app_view::resource::Permissions;

use super::{SHUT_DOWN_LIMIT, schemes::PAGE_ORIGIN};
use crate::api::{WindowHost, serve};

/// The label of the window, which the capability names.
pub(super) const MAIN: &str = "main";

/// What runs first in the frame of every View, and does nothing elsewhere.
const VIEW_SCRIPT: &str = include_str!("view_script.js");

/// How far the end has come. It may be asked for by the window, by a signal and by the system, and happens once.
#[derive(Debug, Default)]
pub(super) struct Ending {
    begun: AtomicBool,
    done: AtomicBool,
}

impl Ending {
    /// Whether the host has shut down, or had its time.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

/// Opens the window as `tauri.conf.json` describes it.
pub(super) fn open<H: WindowHost>(
    app: &App,
    host: &Arc<H>,
    ending: &Arc<Ending>,
    proxy: SocketAddr,
) -> anyhow::Result<()> {
    let config = app.config().app.windows.iter().find(|window| window.label == MAIN);
    let config = config.context("tauri.conf.json describes no window")?;
    let window = WebviewWindowBuilder::from_config(app, config)?
        .data_directory(host.web_data_dir())
        .proxy_url(Url::parse(&format!("http://{proxy}"))?)
        .on_navigation({
            let host = Arc::clone(host);
            move |url| {
                is_own(url) || is_open_view(url, host.as_ref()) || host.is_navigation_allowed(url.as_str())
            }
        })
        // A navigation does not say which frame goes. The sandbox keeps a View from leading the page away; if one ever did, the page
        // comes back at once.
        .on_page_load(|window, payload| {
            if !is_page(payload.url()) {
                tracing::warn!("the window was led away from its page");
                let page = Url::parse(PAGE_ORIGIN).map_err(anyhow::Error::from);
                if let Err(error) = page.and_then(|it| Ok(window.navigate(it)?)) {
                    tracing::warn!(%error, "the page could not be loaded again");
                }
            }
        })
        .on_new_window(|_, _| NewWindowResponse::Deny)
        // Files are written by Rust, to the user's folder for downloads and under a name that is not taken.
        .on_download(|_, _| false)
        .on_permission_request({
            let host = Arc::clone(host);
            move |_, kind| match is_granted(kind, host.granted_features()) {
                true => PermissionResponse::Allow,
                false => PermissionResponse::Deny,
            }
        })
        .initialization_script_for_all_frames(VIEW_SCRIPT);
    #[cfg(windows)]
    let window = window.additional_browser_args(&browser_args(proxy));
    let window = window.build()?;
    #[cfg(target_os = "linux")]
    super::watch::begin(&window, host)?;
    window.on_window_event({
        let (app, host, ending) = (app.handle().clone(), Arc::clone(host), Arc::clone(ending));
        move |event| {
            if let WindowEvent::CloseRequested { api, .. } = event
                && !ending.is_done()
            {
                api.prevent_close();
                end(app.clone(), Arc::clone(&host), Arc::clone(&ending));
            }
        }
    });
    Ok(())
}

/// The arguments of WebView2's browser. They take the place of those that wry gives by itself, so the first three are wry's own.
///
/// Chromium goes past a proxy to addresses of the computer itself and of its link unless `<-loopback>` says otherwise; WebRTC may not
/// send a packet that no proxy carries; and names are not looked up before they are needed.
#[cfg(any(windows, test))]
fn browser_args(proxy: SocketAddr) -> String {
    [
        "--disable-features=msWebOOUI,msPdfOOUI,msSmartScreenProtection",
        "--autoplay-policy=no-user-gesture-required",
        &format!("--proxy-server=http://{proxy}"),
        "--proxy-bypass-list=<-loopback>",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--dns-prefetch-disable",
    ]
    .join(" ")
}

/// Whether a live View was granted what the web view asks for. For whom it asks is not said: a frame that was not granted a feature cannot
/// ask, by its `allow` attribute and its policy.
fn is_granted(kind: PermissionKind, granted: Permissions) -> bool {
    match kind {
        PermissionKind::Camera => granted.camera,
        PermissionKind::Microphone => granted.microphone,
        PermissionKind::Geolocation => granted.geolocation,
        // The list of kinds is open, and no View is ever granted another.
        _ => false,
    }
}

/// Hides the window at once, ends the host within its time, and then the process.
pub(super) fn end<H: WindowHost>(app: AppHandle, host: Arc<H>, ending: Arc<Ending>) {
    if ending.begun.swap(true, Ordering::AcqRel) {
        return;
    }
    if let Some(window) = app.get_webview_window(MAIN)
        && let Err(error) = window.hide()
    {
        tracing::warn!(%error, "the window could not be hidden");
    }
    tauri::async_runtime::spawn(async move {
        if tokio::time::timeout(SHUT_DOWN_LIMIT, host.shut_down()).await.is_err() {
            tracing::warn!("the servers did not end in time");
        }
        ending.done.store(true, Ordering::Release);
        app.exit(0);
    });
}

/// Ends as well when the terminal or the system asks, so that no server outlives the window.
pub(super) fn end_on_signal<H: WindowHost>(app: AppHandle, host: Arc<H>, ending: Arc<Ending>) {
    tauri::async_runtime::spawn(async move {
        match signal().await {
            Ok(()) => end(app, host, ending),
            Err(error) => tracing::warn!(%error, "signals cannot be received"),
        }
    });
}

#[cfg(unix)]
async fn signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = hang_up.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}

#[cfg(not(unix))]
async fn signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

/// The window's own page. A frame that the page makes itself starts empty, and so does a window.
fn is_page(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    match url.scheme() {
        "tauri" => host == "localhost",
        "about" => url.path() == "blank",
        // On Windows a scheme is written as a host.
        "http" | "https" if cfg!(windows) => host == "tauri.localhost",
        _ => false,
    }
}

/// The addresses of the application itself. The isolation frame is let through by Tauri before this is asked.
fn is_own(url: &Url) -> bool {
    is_page(url) || (url.scheme() == "about" && url.path() == "srcdoc")
}

/// The address of a View that is open now: those of Views that are gone, and of none, are nobody's.
fn is_open_view<H: WindowHost>(url: &Url, host: &H) -> bool {
    let is_scheme = match url.scheme() {
        serve::VIEW_SCHEME => true,
        "http" | "https" if cfg!(windows) => {
            url.host_str().is_some_and(|it| it.starts_with("mcpview.") && it.ends_with(".view.localhost"))
        }
        _ => false,
    };
    is_scheme && url.host_str().is_some_and(|it| host.is_view_open(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_of_windows_passes_the_proxy_to_no_address() {
        let args = browser_args(SocketAddr::from(([127, 0, 0, 1], 4321)));
        for one in [
            "--proxy-server=http://127.0.0.1:4321",
            "--proxy-bypass-list=<-loopback>",
            "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        ] {
            assert!(args.split(' ').any(|it| it == one), "{one}: {args}");
        }
    }

    #[test]
    fn a_feature_is_there_that_a_view_was_granted() {
        let camera = Permissions { camera: true, ..Permissions::default() };
        assert!(is_granted(PermissionKind::Camera, camera));
        assert!(!is_granted(PermissionKind::Microphone, camera));
        assert!(!is_granted(PermissionKind::Camera, Permissions::default()));
        for kind in
            [PermissionKind::Notifications, PermissionKind::ClipboardRead, PermissionKind::DisplayCapture]
        {
            assert!(!is_granted(kind, Permissions::ALL), "{kind:?}");
        }
    }

    #[test]
    fn only_addresses_of_the_application_are_its_own() {
        let own = |text: &str| is_own(&Url::parse(text).unwrap());
        for url in ["tauri://localhost/", "about:blank", "about:srcdoc"] {
            assert!(own(url), "{url}");
        }
        for url in [
            "https://example.com/",
            "http://localhost:1420/",
            "http://127.0.0.1/",
            "tauri://other/",
            // Whether a View is open, the host knows.
            "mcpview://a1.localhost/",
            "usher-media://localhost/h/0",
            "ipc://localhost/rpc",
            "file:///etc/passwd",
            "data:text/html,x",
            "javascript:alert(1)",
            "blob:tauri://localhost/x",
        ] {
            assert!(!own(url), "{url}");
        }
        assert!(!is_page(&Url::parse("about:srcdoc").unwrap()), "a page is never a frame's text");
    }
}
