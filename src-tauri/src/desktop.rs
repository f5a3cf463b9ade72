//! The window: the only part of Usher that knows Tauri.
//!
//! It gives the page two commands, two schemes and nothing else, and denies by default every other way out: navigation, new windows,
//! downloads, permissions and the network itself. Deliberately absent: decisions of the product. Whatever needs one asks
//! [`WindowHost`].
//!
//! The layers that keep a View away from commands: its own origin, the frame's sandbox, Tauri's invoke key, and the isolation frame
//! that encrypts each message. On Linux any frame can reach the door of the invoke key, so the encryption is the layer that counts.

mod failure;
mod ipc;
mod left_over;
mod schemes;
#[cfg(feature = "host-test")]
mod test_key;
#[cfg(feature = "host-test")]
mod test_network;
#[cfg(target_os = "linux")]
mod watch;
mod window;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use tauri::{AppHandle, RunEvent};

use crate::{
    api::{ApiError, WindowHost},
    egress,
};

/// How long servers have to end before the process does.
const SHUT_DOWN_LIMIT: Duration = Duration::from_secs(3);

/// Looks whether there is a display, before anything is opened for a window.
///
/// # Errors
/// When there is none. Tauri itself would panic.
pub fn check_display() -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    gtk::init().map_err(|_| {
        anyhow::anyhow!(
            "There is no display to open a window on. Start Usher in a desktop session, or give a command; see `usher --help`."
        )
    })?;
    Ok(())
}

/// Opens the window and returns when it was closed and the host has shut down.
///
/// Call it on the main thread; systems allow windows nowhere else. `runtime` is the one that the host already runs on.
///
/// # Errors
/// When no window can be opened, for instance without a display.
pub fn run<H: WindowHost>(runtime: tokio::runtime::Handle, host: Arc<H>) -> anyhow::Result<()> {
    left_over::remove(&host.web_data_dir());
    #[cfg(not(feature = "host-test"))]
    let outside = egress::System;
    #[cfg(feature = "host-test")]
    let outside = test_network::Network::from_environment();
    let proxy = runtime.block_on(egress::start(host.gate(), outside));
    let proxy = proxy.context("the loopback address could not be used")?;
    tauri::async_runtime::set(runtime.clone());
    let ending = Arc::new(window::Ending::default());
    let builder = schemes::register(tauri::Builder::default(), &runtime, &host)
        .invoke_handler(ipc::handler(Arc::clone(&host)))
        .setup({
            let (host, ending) = (Arc::clone(&host), Arc::clone(&ending));
            move |app| {
                #[cfg(feature = "host-test")]
                test_key::write_down(app)?;
                window::open(app, &host, &ending, proxy)?;
                window::end_on_signal(app.handle().clone(), host, ending);
                Ok(())
            }
        });
    #[cfg(target_os = "macos")]
    let builder = builder.on_web_content_process_terminate({
        let host = Arc::clone(&host);
        move |webview| {
            host.page_lost(crate::api::PageLoss::Ended);
            if let Err(error) = webview.reload() {
                tracing::warn!(%error, "the page could not be loaded again");
            }
        }
    });
    let app = builder.build(tauri::generate_context!()).context("the window could not be opened")?;
    app.run_return(move |app: &AppHandle, event: RunEvent| {
        if let RunEvent::ExitRequested { api, .. } = &event
            && !ending.is_done()
        {
            api.prevent_exit();
            window::end(app.clone(), Arc::clone(&host), Arc::clone(&ending));
        }
    });
    Ok(())
}

/// Opens a window that says why Usher cannot start, and returns when it was closed.
///
/// # Errors
/// When no window can be opened; the caller then writes the error to the terminal.
pub fn show_failure(error: &ApiError) -> anyhow::Result<()> {
    failure::show(error)
}
