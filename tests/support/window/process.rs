//! `tauri-driver` and everything that it starts: WebKitWebDriver, the application, and the processes of its web view.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    path::PathBuf,
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

    /// The memory of everything that was started, in bytes: what is shared by several is counted once, by shares.
    ///
    /// # Errors
    /// When the system does not say.
    pub(super) fn memory(&self) -> anyhow::Result<u64> {
        let mut kilobytes = 0;
        for member in members(self.group).context("/proc cannot be read")? {
            // One that has ended since has none.
            let sums = fs::read_to_string(member.folder.join("smaps_rollup")).unwrap_or_default();
            let share = sums.lines().find_map(|it| it.strip_prefix("Pss:")?.trim().strip_suffix(" kB"));
            kilobytes += share.map_or(Ok(0), str::parse::<u64>)?;
        }
        anyhow::ensure!(kilobytes > 0, "the system does not say how much memory there is in use");
        Ok(kilobytes * 1024)
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
    members(group).is_none_or(|all| all.iter().any(|it| it.state != "Z"))
}

/// A process of a group.
struct Member {
    folder: PathBuf,
    state: String,
}

/// The processes of a group; none when the system does not say.
fn members(group: Pid) -> Option<Vec<Member>> {
    let processes = fs::read_dir("/proc").ok()?;
    let member = |folder: PathBuf| {
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        // After the name, which may hold anything, stand the state, the parent and the group.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let state = fields.next()?.to_owned();
        (fields.nth(1)? == group.to_string()).then_some(Member { folder, state })
    };
    Some(processes.filter_map(Result::ok).filter_map(|it| member(it.path())).collect())
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
