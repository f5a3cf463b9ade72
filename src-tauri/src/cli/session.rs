//! A host for the length of one command: opened, followed, interrupted, and always shut down, so that no server outlives it.
//!
//! Deliberately absent: what is shown.

use std::{collections::BTreeSet, future::Future, io::IsTerminal, path::PathBuf, pin::Pin, time::Duration};

use tokio::sync::mpsc;
use usher_engine::selection::Consumers;
use usher_host::conversation::{
    ApprovalChoice, Asked, CallRecord, CallState, Host, HostError, HostEvent, QuestionAnswer, QuestionRecord,
    ServerPhase, ServerStatus,
};

use super::{
    asking,
    given::GivenServer,
    terminal::{clean, clean_line, err},
};
use crate::api::UsherOptions;

/// How a command ends; README, "The command line", lists the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Everything worked.
    Fine,
    /// The server broke its contract, or the tool failed.
    Broken,
    /// The command cannot be carried out as it was given.
    Usage,
    /// A server, the model's endpoint, or the data folder could not be reached.
    Unreachable,
    /// The user interrupted it.
    Interrupted,
}

impl Exit {
    /// The process's exit code. An interruption has the one that shells use.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Broken => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Interrupted => 130,
        }
    }
}

/// Why a command ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The exit code's meaning.
    pub(super) exit: Exit,
    /// For people.
    pub(super) text: String,
}

impl Failure {
    pub(super) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self { exit, text: text.into() }
    }

    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, text)
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self::new(Exit::Broken, error.to_string())
    }
}

/// Where the data of a command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The user's data folder, or the one that was named.
    Folder(Option<PathBuf>),
    /// A folder that is gone afterwards.
    Temporary,
}

/// Who answers whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    /// The command line did (`--yes`).
    Given(ApprovalChoice),
    /// The person at the terminal; where there is none the answer is no.
    Ask,
}

impl Approval {
    /// As `--yes` says.
    pub(super) fn of(yes: bool) -> Self {
        if yes { Self::Given(ApprovalChoice::Once) } else { Self::Ask }
    }
}

/// How long work may take to end by itself after a first interruption.
const PATIENCE: Duration = Duration::from_secs(3);

/// An open host.
pub(super) struct Session {
    pub(super) host: Host,
    events: mpsc::UnboundedReceiver<HostEvent>,
    approval: Approval,
    asked: BTreeSet<String>,
    unasked: bool,
    interruptions: Interruptions,
    // Dropped last, when the host has closed its files.
    _folder: Option<tempfile::TempDir>,
}

impl Session {
    /// Opens the data and starts those of its servers that are on.
    pub(super) async fn open(
        place: Place,
        consumers: Consumers,
        approval: Approval,
    ) -> Result<Self, Failure> {
        Self::open_as(place, consumers, approval, true).await
    }

    /// Opens the data and starts none of its servers.
    pub(super) async fn open_quietly(place: Place) -> Result<Self, Failure> {
        Self::open_as(place, Consumers::TERMINAL, Approval::Ask, false).await
    }

    /// Opens the data and starts the server of that name, and no other. Answers its id too.
    pub(super) async fn open_for(
        name: &str,
        place: Place,
        consumers: Consumers,
        approval: Approval,
    ) -> Result<(Self, String), Failure> {
        let session = Self::open_as(place, consumers, approval, false).await?;
        let started = match session.find(name) {
            Ok(found) if found.enabled => {
                session.host.start_server(&found.id).await.map(|()| found.id).map_err(Failure::from)
            }
            Ok(found) => Err(Failure::new(
                Exit::Unreachable,
                format!("{0} is turned off. Turn it on with `usher servers enable {0}`.", found.name),
            )),
            Err(failure) => Err(failure),
        };
        match started {
            Ok(id) => Ok((session, id)),
            Err(failure) => {
                session.close().await;
                Err(failure)
            }
        }
    }

    async fn open_as(
        place: Place,
        consumers: Consumers,
        approval: Approval,
        starts_servers: bool,
    ) -> Result<Self, Failure> {
        let (data_dir, folder) = match place {
            Place::Folder(named) => (named, None),
            Place::Temporary => {
                let made = tempfile::Builder::new().prefix("usher-").tempdir().map_err(|error| {
                    Failure::new(Exit::Unreachable, format!("A temporary folder could not be made: {error}."))
                })?;
                (Some(made.path().to_owned()), Some(made))
            }
        };
        let options = UsherOptions {
            data_dir,
            consumers,
            own_program: own_program(),
            by_command: true,
            can_ask: can_ask(),
            starts_servers,
            secrets: crate::keyring::place(),
            passing: folder.is_some(),
            fixtures: None,
        };
        let (host, events) = Host::open(options.host_options())
            .await
            .map_err(|error| Failure::new(Exit::Unreachable, error.to_string()))?;
        Ok(Self {
            host,
            events,
            approval,
            asked: BTreeSet::new(),
            unasked: false,
            interruptions: Interruptions::listen(),
            _folder: folder,
        })
    }

    /// Opens a temporary folder with one server: the one that was given. Answers its id too.
    pub(super) async fn open_with(
        given: &GivenServer,
        consumers: Consumers,
        approval: Approval,
    ) -> Result<(Self, String), Failure> {
        let (name, spec) = given.spec()?;
        let session = Self::open_as(Place::Temporary, consumers, approval, false).await?;
        for status in session.host.server_statuses() {
            session.host.remove_server(&status.id).await?;
        }
        let id = session.host.save_server(None, name, spec).await?;
        session.host.start_server(&id).await?;
        Ok((session, id))
    }

    /// Carries out some work while the host's events are shown and approvals are answered.
    ///
    /// A first interruption calls `stop`, so that the work can end by itself; a second one ends the command.
    pub(super) async fn follow<T>(
        &mut self,
        work: impl Future<Output = T>,
        stop: impl Fn(&Host),
        mut see: impl FnMut(HostEvent),
    ) -> Result<T, Failure> {
        let mut work: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(work);
        let mut interrupted = false;
        let patience = tokio::time::sleep(PATIENCE);
        tokio::pin!(patience);
        let end = loop {
            tokio::select! {
                biased;
                // What waits for a server that says nothing does not end by itself.
                () = &mut patience, if interrupted => break None,
                () = self.interruptions.next() => {
                    if interrupted {
                        return Err(Failure::new(Exit::Interrupted, "Interrupted."));
                    }
                    interrupted = true;
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    err("\nStopping. Press Ctrl-C again to end at once.\n");
                    stop(&self.host);
                }
                Some(event) = self.events.recv() => {
                    self.consider(&event);
                    see(event);
                }
                end = &mut work => break Some(end),
            }
        };
        while let Ok(event) = self.events.try_recv() {
            see(event);
        }
        match end {
            Some(end) if !interrupted => Ok(end),
            Some(_) | None => Err(Failure::new(Exit::Interrupted, "Stopped.")),
        }
    }

    /// Answers a call that waits for the user, and what a server asks.
    fn consider(&mut self, event: &HostEvent) {
        if let HostEvent::Question(question) = event {
            return self.consider_question(question);
        }
        let HostEvent::Item { call: Some(call), .. } = event else { return };
        let CallState::AwaitingApproval(why) = &call.state else { return };
        if !self.asked.insert(call.id.clone()) {
            return;
        }
        match self.approval {
            Approval::Given(choice) => answer(&self.host, &call.id, choice),
            Approval::Ask if can_ask() => ask(self.host.clone(), call, why),
            Approval::Ask => {
                err(&format!(
                    "{} was not called: nobody can be asked here. Give --yes to allow it.\n",
                    clean_line(&call.tool)
                ));
                self.unasked = true;
                answer(&self.host, &call.id, ApprovalChoice::Refuse);
            }
        }
    }

    /// Asks the person what a server wants to know, or what the host does before it sends the person to an address to sign in.
    fn consider_question(&mut self, question: &QuestionRecord) {
        if !self.asked.insert(question.id.clone()) {
            return;
        }
        match &question.asked {
            _ if can_ask() => ask_for_server(self.host.clone(), question.clone()),
            Asked::Url { message, url, .. } => {
                err(&format!(
                    "{}\nThe address: {}\nIt was not opened: nobody can be asked here. Run the command in a terminal, or sign in in the window.\n",
                    clean(message),
                    clean_line(url)
                ));
                answer_question(&self.host, &question.id, QuestionAnswer::Decline);
            }
            Asked::Form { .. }
            | Asked::Sample(_)
            | Asked::SampleAnswer(_)
            | Asked::ViewAccess { .. }
            | Asked::ViewWords { .. }
            | Asked::ViewLink { .. }
            | Asked::ViewFiles { .. } => {
                answer_question(&self.host, &question.id, QuestionAnswer::Cancel);
            }
        }
    }

    /// Whether a call was refused because nobody was there who could allow it.
    pub(super) fn refused_unasked(&self) -> bool {
        self.unasked
    }

    /// Waits until a server is connected and listed.
    pub(super) async fn ready(&mut self, server_id: &str) -> Result<ServerStatus, Failure> {
        let host = self.host.clone();
        let ready = self.follow(host.server_ready(server_id), |_| {}, |_| {}).await?;
        ready.map_err(|error| {
            let status = self.host.server_statuses().into_iter().find(|it| it.id == server_id);
            let text = match status.as_ref().map(|it| &it.state) {
                Some(ServerPhase::Failed(what, todo)) => format!("{what}\n{todo}"),
                _ => format!("{error}. {}", error.todo()),
            };
            let name = status.map_or_else(String::new, |it| format!("{}: ", it.name));
            Failure::new(Exit::Unreachable, format!("{name}{text}"))
        })
    }

    /// Waits until every server that is on is connected, or cannot be.
    pub(super) async fn all_ready(&mut self) -> Result<Vec<ServerStatus>, Failure> {
        let ids: Vec<String> =
            self.host.server_statuses().into_iter().filter(|it| it.enabled).map(|it| it.id).collect();
        for id in ids {
            match self.ready(&id).await {
                Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
                Err(_) | Ok(_) => {}
            }
        }
        Ok(self.host.server_statuses())
    }

    /// A configured server, by its name or its id.
    pub(super) fn find(&self, name: &str) -> Result<ServerStatus, Failure> {
        let all = self.host.server_statuses();
        let found = named(&all, name, |it| (&it.id, &it.name));
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Failure::usage(format!("There is no server {name:?}. There are: {known}."))
        })
    }

    /// Ends the servers and closes the data, whatever happens after.
    pub(super) async fn close(self) {
        const LIMIT: Duration = Duration::from_secs(8);
        let _late = tokio::time::timeout(LIMIT, self.host.shut_down()).await;
    }
}

/// What is called so: exactly, or else the only one that is when small and large letters are the same.
fn named<'a, T>(all: &'a [T], name: &str, of: impl Fn(&T) -> (&String, &String)) -> Option<&'a T> {
    let exact = all.iter().find(|it| of(it).0 == name).or_else(|| all.iter().find(|it| of(it).1 == name));
    exact.or_else(|| {
        let mut like = all.iter().filter(|it| of(it).1.eq_ignore_ascii_case(name));
        like.next().filter(|_| like.next().is_none())
    })
}

/// This program, which is the sample server as well.
pub(super) fn own_program() -> String {
    std::env::current_exe().map(|it| it.display().to_string()).unwrap_or_else(|_| "usher".to_owned())
}

fn answer(host: &Host, call_id: &str, choice: ApprovalChoice) {
    if let Err(error) = host.answer_approval(call_id, choice) {
        tracing::debug!(%error, "a question was gone before its answer");
    }
}

fn answer_question(host: &Host, id: &str, answer: QuestionAnswer) {
    if let Err(error) = host.answer_question(id, answer) {
        err(&format!("{}\n", clean(&error.to_string())));
    }
}

pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn ask(host: Host, call: &CallRecord, why: &str) {
    let (id, tool, server) = (call.id.clone(), clean_line(&call.tool), clean_line(&call.server_name));
    let arguments = clean_line(call.arguments.get());
    let question = format!(
        "Call {tool} of {server} with {arguments}?\n{} [y]es, [a]lways in this run, [N]o: ",
        clean_line(why)
    );
    // The thread that reads the terminal cannot be interrupted; the runtime is left without waiting for it.
    tokio::task::spawn_blocking(move || {
        let _one_at_a_time = TERMINAL.lock();
        err(&question);
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        let choice = match line.trim().to_ascii_lowercase().as_str() {
            _ if read.is_err() => ApprovalChoice::Refuse,
            "y" | "yes" => ApprovalChoice::Once,
            "a" | "always" => ApprovalChoice::Conversation,
            _ => ApprovalChoice::Refuse,
        };
        answer(&host, &id, choice);
    });
}

/// Two questions at once would read each other's answers.
static TERMINAL: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Asks the person at the terminal what a server asks, again while the answer does not fit.
fn ask_for_server(host: Host, question: QuestionRecord) {
    tokio::task::spawn_blocking(move || {
        let _one_at_a_time = TERMINAL.lock();
        loop {
            let answer = asking::answer(&question, &mut std::io::stdin().lock(), &mut |text| err(text));
            let accepts = matches!(answer, QuestionAnswer::Accept(_));
            match host.answer_question(&question.id, answer) {
                Err(error) => err(&format!("{error}\n")),
                Ok(()) => return,
            }
            // Only what was filled in can be corrected, and only while the server waits.
            if !accepts || !host.questions().iter().any(|it| it.id == question.id) {
                return;
            }
        }
    });
}

/// Ctrl-C, and where there is one the signal that asks a program to end. Listened to from the start, so that none is lost.
#[cfg(unix)]
struct Interruptions(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Interruptions {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self(
            [SignalKind::interrupt(), SignalKind::terminate()]
                .into_iter()
                .filter_map(|it| signal(it).ok())
                .collect(),
        )
    }

    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let came =
                self.0.iter_mut().any(|it| matches!(it.poll_recv(context), std::task::Poll::Ready(Some(()))));
            if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

#[cfg(not(unix))]
struct Interruptions;

#[cfg(not(unix))]
impl Interruptions {
    fn listen() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_by_its_very_name_before_one_that_is_written_otherwise() {
        let all = [("1", "GitHub"), ("2", "github"), ("3", "Files"), ("Files", "other")];
        let all = all.map(|it| (it.0.to_owned(), it.1.to_owned()));
        let find = |name: &str| named(&all, name, |it| (&it.0, &it.1)).map(|it| it.0.as_str());
        assert_eq!(find("github"), Some("2"));
        assert_eq!(find("GitHub"), Some("1"));
        assert_eq!(find("GITHUB"), None, "two are called so");
        assert_eq!(find("OTHER"), Some("Files"));
        assert_eq!(find("Files"), Some("Files"), "an id is no name");
    }
}
