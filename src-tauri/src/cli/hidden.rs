//! A line that somebody writes at a terminal, without its letters being shown where it is a secret.
//!
//! Deliberately absent: what is asked. Where the system has no such terminal, the letters are shown.

use super::terminal::err;

/// Asks, and reads one line, of which nothing is shown if it is a secret. `None` at the end of the input.
pub(super) fn read_line(question: &str, secret: bool) -> Option<String> {
    err(question);
    let hidden = secret.then(Shown::hide);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    if hidden.is_some_and(|it| it.is_terminal()) {
        // The end of the line was not shown either.
        err("\n");
    }
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// What a terminal shows of what is written, which is as it was when this is dropped.
#[cfg(unix)]
pub(super) struct Shown(Option<nix::sys::termios::Termios>);

#[cfg(unix)]
impl Shown {
    /// Notes how the terminal is, and leaves it so.
    pub(super) fn note() -> Self {
        // Without a terminal there is nothing to note, and nothing is shown.
        Self(nix::sys::termios::tcgetattr(std::io::stdin()).ok())
    }

    fn hide() -> Self {
        use nix::sys::termios::{LocalFlags, SetArg, tcsetattr};
        let before = Self::note();
        if let Some(mut quiet) = before.0.clone() {
            quiet.local_flags.remove(LocalFlags::ECHO);
            let _shown_then = tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &quiet);
        }
        before
    }

    fn is_terminal(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(unix)]
impl Drop for Shown {
    fn drop(&mut self) {
        use nix::sys::termios::{SetArg, tcsetattr};
        if let Some(before) = &self.0 {
            // The terminal may be gone.
            let _gone = tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, before);
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Shown;

#[cfg(not(unix))]
impl Shown {
    pub(super) fn note() -> Self {
        Self
    }

    fn hide() -> Self {
        Self
    }

    fn is_terminal(&self) -> bool {
        false
    }
}
