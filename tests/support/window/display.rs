//! A display without a screen, for one window.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::Context as _;

/// A running `Xvfb` with a display number that it chose itself.
pub(super) struct Display {
    child: Child,
    number: String,
}

impl Display {
    /// Starts it, and returns when it takes clients.
    pub(super) fn start() -> anyhow::Result<Self> {
        // It writes the number, and only then is ready, to the file descriptor that it is given: its output.
        let mut child = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("Xvfb cannot be started; `cargo xtask test` installs it (Debian package xvfb)")?;
        let output = child.stdout.take().context("the output of Xvfb")?;
        let mut number = String::new();
        BufReader::new(output).read_line(&mut number)?;
        let display = Self { child, number: number.trim().to_owned() };
        anyhow::ensure!(!display.number.is_empty(), "Xvfb ended before it had a display");
        Ok(display)
    }

    /// What `DISPLAY` must be.
    pub(super) fn name(&self) -> String {
        format!(":{}", self.number)
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // The child may have ended by itself; there is nothing left to do then.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
