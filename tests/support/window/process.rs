//! `tauri-driver` and everything that it starts: WebKitWebDriver, the application, and the processes of its web view.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::{INTERVAL, display::Display};

/// How long the driver has to listen.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How long everything has to end when asked. The application gives its servers three seconds.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A running driver, in a process group of its own so that the whole of it can be ended.
pub(super) struct Driver {
    child: Child,
    group: Pid,
    port: u16,
}

impl Driver {
    /// Starts the driver on free ports and waits until it listens.
    pub(super) async fn start(display: &Display, environment: &[(String, String)]) -> anyhow::Result<Self> {
        let (port, native_port) = free_ports()?;
        let child = Command::new("tauri-driver")
            .args(["--port", &port.to_string(), "--native-port", &native_port.to_string()])
            .env_remove("WAYLAND_DISPLAY")
            .env("DISPLAY", display.name())
            .env("GDK_BACKEND", "x11")
            .env("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
            .env("NO_AT_BRIDGE", "1")
            // No desktop session: the application shall not start a message bus that outlives it.
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            // Its output is nobody's: an orphan that held the tests' would keep whoever reads them waiting.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("tauri-driver cannot be started; `cargo xtask test` installs it")?;
        let group = Pid::from_raw(i32::try_from(child.id())?);
        let mut driver = Self { child, group, port };
        let start = Instant::now();
        while !(is_open(port) && is_open(native_port)) {
            if let Some(status) = driver.child.try_wait()? {
                bail!(
                    "tauri-driver ended ({status}); it needs WebKitWebDriver (Debian package webkit2gtk-driver)"
                );
            }
            if start.elapsed() > START_LIMIT {
                bail!("tauri-driver does not listen");
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(driver)
    }

    /// Where the session is.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let start = Instant::now();
        let _ = killpg(self.group, Signal::SIGTERM);
        while start.elapsed() < END_LIMIT {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended && !is_alive(self.group) {
                return;
            }
            thread::sleep(INTERVAL);
        }
        let _ = killpg(self.group, Signal::SIGKILL);
        drop(self.child.wait());
    }
}

/// Whether a process of the group still runs. A dead one that nobody waited for would still take a signal, so its state is read.
fn is_alive(group: Pid) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    processes.filter_map(Result::ok).any(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // After the name, which may hold anything, stand the state, the parent and the group.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let state = fields.next();
        fields.nth(1).is_some_and(|number| number == group.to_string()) && state != Some("Z")
    })
}

/// Two ports that nobody had a moment ago. Both are held until both are known, so that they differ.
fn free_ports() -> anyhow::Result<(u16, u16)> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let second = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok((first.local_addr()?.port(), second.local_addr()?.port()))
}

fn is_open(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
