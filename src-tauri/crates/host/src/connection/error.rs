//! What goes wrong with a server, said so that a person can act on it.

use usher_protocol::{RawJson, Revision, codec::DecodeError};

use super::{authorization::AuthorizationError, event::Exit};

/// A request was carried over HTTP and came to no JSON-RPC answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{}", status.map_or_else(|| "no connection".to_owned(), |it| format!("HTTP {it}")), if detail.is_empty() { "" } else { ": " }, in_brief(detail))]
pub struct HttpFailure {
    /// The status, if the server answered at all.
    pub status: Option<u16>,
    /// The start of the body, or what went wrong on the way. Untrusted.
    pub detail: String,
    /// What the server says about who may ask (RFC 9110, `WWW-Authenticate`).
    pub challenge: Option<String>,
}

/// A server could not be reached. `Display` says what happened; [`ConnectError::todo`] what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// There is no such command.
    #[error("the command {command:?} was not found. Searched: {}", searched(path))]
    CommandNotFound {
        /// As configured.
        command: String,
        /// The folders that were searched.
        path: Vec<String>,
    },
    /// The command is a path, and nothing is there.
    #[error("there is no file {file:?}")]
    NoFile {
        /// The path.
        file: String,
    },
    /// The command is a path, and what is there is no program that this user may run.
    #[error("{file:?} exists, but is no file that you may run")]
    NotAProgram {
        /// The path.
        file: String,
    },
    /// The working folder does not exist.
    #[error("the folder {folder:?}, in which the server should run, does not exist")]
    NoFolder {
        /// As configured.
        folder: String,
    },
    /// The operating system refused to start it.
    #[error("{command:?} could not be started: {why}")]
    NotStarted {
        /// The file.
        command: String,
        /// What the system says.
        why: String,
    },
    /// It ended before it answered.
    #[error("the server ended before it answered ({}){}", exit.status, own_lines(printed, &exit.stderr))]
    ExitedAtStart {
        /// How.
        exit: Exit,
        /// The first lines of its standard output that were no messages. Untrusted.
        printed: Vec<String>,
    },
    /// It did not answer in time.
    #[error("the server did not answer within {seconds} s{}", own_lines(printed, stderr))]
    Silent {
        /// How long the host waited.
        seconds: u64,
        /// The last lines of stderr.
        stderr: Vec<String>,
        /// The first lines of its standard output that were no messages. Untrusted.
        printed: Vec<String>,
    },
    /// It sends back what it is sent, as `cat` does.
    #[error("it answers with what it was sent, so it is no MCP server")]
    Echo,
    /// It could not be reached over HTTP, or answered with something that is not MCP.
    #[error("the address did not answer as an MCP server ({failure})")]
    Http {
        /// What happened.
        failure: HttpFailure,
    },
    /// It wants to know who asks, and signing in did not succeed.
    #[error(transparent)]
    NotAuthorized(#[from] AuthorizationError),
    /// It speaks other revisions.
    #[error("the server speaks {}, of which Usher speaks none", list(supported))]
    NoCommonRevision {
        /// What it speaks.
        supported: Vec<String>,
    },
    /// One revision was chosen for it, and it does not speak that one.
    #[error("only {pinned} was to be spoken with the server, which speaks {}", if spoken.is_empty() { "something else".to_owned() } else { spoken.join(", ") })]
    OtherRevision {
        /// The revision that was chosen.
        pinned: Revision,
        /// What it speaks, as far as it says.
        spoken: Vec<String>,
    },
    /// It refused to open.
    #[error("the server refused {method}: {message} ({code})")]
    Refused {
        /// The opening request.
        method: &'static str,
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// Its answer to the opening request has the wrong shape.
    #[error("the server's answer to {method} cannot be used: {why}")]
    BadGreeting {
        /// The opening request.
        method: &'static str,
        /// What is wrong.
        why: String,
    },
}

impl ConnectError {
    /// What the person can do about it.
    pub fn todo(&self) -> String {
        match self {
            Self::CommandNotFound { command, .. } => format!(
                "Install it, or give the full path of {command:?} in its place. Where it works in a terminal, `which {command}` prints that path."
            ),
            Self::NoFile { .. } => {
                "Correct the path. One that is not absolute begins at the folder in which the server runs.".to_owned()
            }
            Self::NotAProgram { file } => format!(
                "If it is a program, allow that it is run (on Unix: `chmod +x {file}`). If it is a script, you can also give its interpreter first, such as `python3 {file}`."
            ),
            Self::NoFolder { .. } => "Create the folder, or choose another one for the server.".to_owned(),
            Self::NotStarted { .. } => {
                "Check that the file is a program and that you may run it (on Unix: `chmod +x`).".to_owned()
            }
            Self::ExitedAtStart { exit, printed } if exit.stderr.is_empty() && printed.is_empty() => {
                "It wrote nothing that says why. Check that the command starts an MCP server on stdio; often an argument, a key or a package is missing.".to_owned()
            }
            Self::ExitedAtStart { exit, .. } if exit.stderr.is_empty() => {
                "Read the lines above: they are the server's own, and no messages of MCP. Check that the command starts an MCP server on stdio.".to_owned()
            }
            Self::ExitedAtStart { .. } => {
                "Read the lines above: they are the server's own. Often an argument, a key or a package is missing. Then start it again.".to_owned()
            }
            Self::Silent { .. } => {
                "Check that the command starts an MCP server on stdio. If it was downloading something, start it again.".to_owned()
            }
            Self::Echo => "Check the command: it must start an MCP server that speaks over its standard input and output.".to_owned(),
            Self::Http { failure, .. } => match failure.status {
                None if failure.detail.contains("certificate") => {
                    "Nobody whom this system trusts vouches for the server's certificate. If it is your own, add its authority to those that the system trusts; Usher does not turn the check off.".to_owned()
                }
                None => "Check the address, and that the server runs and can be reached from here.".to_owned(),
                Some(401 | 403) => "The server wants to know who asks: sign in, or give it a key in a header.".to_owned(),
                Some(429 | 500..) => "The server has trouble of its own. Try again later.".to_owned(),
                Some(_) => "Check the address: MCP servers often live at a path such as /mcp.".to_owned(),
            },
            Self::NotAuthorized(error) => error.todo().to_owned(),
            Self::OtherRevision { .. } => {
                "Choose another revision for it, or automatic negotiation.".to_owned()
            }
            Self::NoCommonRevision { .. } => "Update the server, or Usher.".to_owned(),
            Self::Refused { .. } | Self::BadGreeting { .. } => {
                "Nothing was changed. Report this to the server's authors, with what it answered.".to_owned()
            }
        }
    }
}

/// A request to a server failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The server answered with an error (JSON-RPC 2.0, "Error object").
    #[error("the server refused: {message} ({code})")]
    Server {
        /// A JSON-RPC or MCP error code.
        code: i64,
        /// What happened, in the server's words. Untrusted.
        message: String,
        /// Details, as they came.
        data: Option<RawJson>,
    },
    /// The server ended, or its output did. Whether the request took effect is not known.
    #[error("the server ended while the request was under way ({}){}", exit.status, last_lines(&exit.stderr))]
    Closed {
        /// How.
        exit: Exit,
    },
    /// The caller cancelled it. Whether the request took effect is not known.
    #[error("the request was cancelled")]
    Cancelled,
    /// It took too long, and was cancelled.
    #[error("the server did not answer within {seconds} s; the request was cancelled")]
    TimedOut {
        /// How long the host waited.
        seconds: u64,
    },
    /// The way to the server failed. Whether the request took effect is not known.
    #[error("the request was not answered ({0})")]
    Http(HttpFailure),
    /// The server wants to know who asks, or that more is granted, and signing in did not succeed. The request had no effect.
    #[error(transparent)]
    NotAuthorized(#[from] AuthorizationError),
    /// The server asked for something in return, and got no answer.
    #[error("the server wanted {method} before it goes on: {why}")]
    Unanswered {
        /// What it asked for.
        method: String,
        /// Why nobody answered.
        why: String,
    },
    /// The server ended the task that the call had become.
    #[error("the server cancelled the task{}", why.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    TaskCancelled {
        /// Why, in the server's words. Untrusted.
        why: Option<String>,
    },
    /// The server always wanted one more thing.
    #[error("the server asked {rounds} times for more before it would answer")]
    TooManyRounds {
        /// How often the request was made.
        rounds: u32,
    },
    /// The answer came, but cannot be read.
    #[error("the server's answer cannot be read: {why}")]
    Unreadable {
        /// What is wrong.
        why: String,
    },
    /// The answer does not have the shape of the method's result.
    #[error(transparent)]
    Shape(#[from] DecodeError),
    /// There are more pages than the host reads.
    #[error("the server lists more than {pages} pages")]
    Endless {
        /// How many were read.
        pages: usize,
    },
    /// The server is not connected.
    #[error("the server is not connected: {state}")]
    NotConnected {
        /// What it is instead.
        state: String,
    },
    /// The request cannot be written.
    #[error("the request cannot be written: {why}")]
    Unwritable {
        /// What is wrong.
        why: String,
    },
}

impl CallError {
    /// What happened without what the server wrote outside of the protocol, which may hold anything: its stderr, and the pages of
    /// whatever answered in its place.
    pub fn in_short(&self) -> String {
        match self {
            Self::Closed { exit } => {
                format!("the server ended while the request was under way ({})", exit.status)
            }
            Self::NotConnected { .. } => "the server is not connected".to_owned(),
            Self::Http(HttpFailure { status: Some(status), .. }) => {
                format!("the request was not answered (HTTP {status})")
            }
            Self::Http(HttpFailure { status: None, .. }) => "the request was not answered".to_owned(),
            Self::Server { .. }
            | Self::Cancelled
            | Self::TimedOut { .. }
            | Self::NotAuthorized(_)
            | Self::Unanswered { .. }
            | Self::TaskCancelled { .. }
            | Self::TooManyRounds { .. }
            | Self::Unreadable { .. }
            | Self::Shape(_)
            | Self::Endless { .. }
            | Self::Unwritable { .. } => self.to_string(),
        }
    }

    /// The code of the server's own error; none where the host found out by itself.
    pub fn code(&self) -> Option<i64> {
        if let Self::Server { code, .. } = self { Some(*code) } else { None }
    }

    /// The same error with every text that a server wrote as `rewrite` gives it back.
    #[must_use]
    pub fn rewritten(mut self, rewrite: impl Fn(String) -> String) -> Self {
        let change = |text: &mut String| *text = rewrite(std::mem::take(text));
        match &mut self {
            Self::Server { message, .. } => change(message),
            Self::Closed { exit } => exit.stderr.iter_mut().for_each(change),
            Self::Http(failure) => {
                change(&mut failure.detail);
                failure.challenge.iter_mut().for_each(change);
            }
            Self::NotAuthorized(AuthorizationError::Refused { said, .. }) => change(said),
            Self::TaskCancelled { why } => why.iter_mut().for_each(change),
            Self::Unanswered { why, .. } | Self::Unreadable { why } | Self::Unwritable { why } => change(why),
            Self::NotConnected { state } => change(state),
            Self::NotAuthorized(_)
            | Self::Cancelled
            | Self::TimedOut { .. }
            | Self::TooManyRounds { .. }
            | Self::Shape(_)
            | Self::Endless { .. } => {}
        }
        self
    }

    /// What the person can do about it.
    pub fn todo(&self) -> &'static str {
        match self {
            Self::Server { .. } => "The server is still connected. Check what it was asked for.",
            Self::Closed { .. } => {
                "The server is started again by itself. Check whether the action took effect before you repeat it."
            }
            Self::Http(HttpFailure { status: Some(401 | 403), .. }) => {
                "The server wants to know who asks: sign in again."
            }
            Self::Cancelled | Self::TimedOut { .. } | Self::Http(_) | Self::TaskCancelled { .. } => {
                "Check whether the action took effect before you repeat it."
            }
            Self::NotAuthorized(error) => error.todo(),
            Self::Unanswered { .. } => {
                "The server may have done a part of its work. Ask again when you can answer."
            }
            Self::Unreadable { .. } | Self::Shape(_) | Self::Endless { .. } | Self::TooManyRounds { .. } => {
                "The server is still connected. Report this to its authors, with what it answered."
            }
            Self::NotConnected { .. } => "Start the server, or look at why it does not start.",
            Self::Unwritable { .. } => "Nothing was sent.",
        }
    }
}

fn searched(path: &[String]) -> String {
    if path.is_empty() { "nothing, PATH is empty".to_owned() } else { path.join(", ") }
}

fn list(revisions: &[String]) -> String {
    if revisions.is_empty() { "no revision that it names".to_owned() } else { revisions.join(", ") }
}

/// What the server wrote of its own: on standard output, where only messages belong, and on stderr.
fn own_lines(printed: &[String], stderr: &[String]) -> String {
    if printed.is_empty() {
        return last_lines(stderr);
    }
    let printed: Vec<String> = printed.iter().map(|it| readable(it)).collect();
    let text =
        format!(". On standard output, where only messages belong, it printed:\n{}", printed.join("\n"));
    let last = last_lines(stderr);
    match last.strip_prefix(". Its") {
        Some(last) => format!("{text}\nOn stderr its{last}"),
        None => text,
    }
}

/// A line without the characters that would steer a terminal.
fn readable(line: &str) -> String {
    line.trim_end().chars().map(|it| if it.is_control() && it != '\t' { '\u{fffd}' } else { it }).collect()
}

/// How many characters of the body that came with a status are shown.
const MAX_SHOWN: usize = 300;

/// The start of a body for people. A page that was made for a browser says nothing here but its title.
fn in_brief(detail: &str) -> String {
    // The letters of ASCII keep their places when they are made small.
    let small = detail.to_ascii_lowercase();
    let begins = small.trim_start();
    if begins.starts_with("<!doctype html") || begins.starts_with("<html") {
        let title = small.find("<title>").map(|it| it + "<title>".len()).and_then(|from| {
            let title = detail.get(from..from + small.get(from..)?.find("</title>")?)?.trim();
            (!title.is_empty()).then(|| title.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        let title = title.map(|it| format!(", {:?}", it.chars().take(80).collect::<String>()));
        return format!("an HTML page{}", title.unwrap_or_default());
    }
    match detail.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &detail[..end]),
        None => detail.to_owned(),
    }
}

fn last_lines(stderr: &[String]) -> String {
    let shown = &stderr[stderr.len().saturating_sub(8)..];
    if shown.is_empty() { String::new() } else { format!(". Its last lines:\n{}", shown.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_browsers_is_not_shown_whole() {
        let shown = |detail: &str| {
            HttpFailure { status: Some(404), detail: detail.to_owned(), challenge: None }.to_string()
        };
        let page =
            format!("\n<!DOCTYPE HTML><head><Title>Not\n Found</TITLE></head>{}", "<p>x</p>".repeat(900));
        assert_eq!(shown(&page), "HTTP 404: an HTML page, \"Not Found\"");
        assert_eq!(shown("<html><title>İ cut off"), "HTTP 404: an HTML page");
        assert_eq!(shown("no such path"), "HTTP 404: no such path");
        let long = shown(&"ä".repeat(1_000));
        assert_eq!(long.chars().count(), "HTTP 404: ".len() + MAX_SHOWN + 1, "{long}");
    }

    #[test]
    fn a_certificate_that_nobody_vouches_for_is_told_apart_from_an_address_that_is_wrong() {
        let todo = |detail: &str| {
            let failure = HttpFailure { status: None, detail: detail.to_owned(), challenge: None };
            ConnectError::Http { failure }.todo()
        };
        let told = todo(
            "error sending request for url: client error (Connect): invalid peer certificate: UnknownIssuer",
        );
        assert!(told.contains("those that the system trusts"), "{told}");
        assert!(todo("connection refused").starts_with("Check the address"));
    }
}
