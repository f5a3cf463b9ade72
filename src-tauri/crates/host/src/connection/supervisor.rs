//! Keeping a server alive: it is started, watched, started again after a crash, and ended when it is turned off.
//!
//! Deliberately absent: which servers there are, and what is done with their tools.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::sync::{mpsc, watch};

use super::{
    CallError, ConnectError, Connection,
    event::{EventReceiver, EventSender, Exit, events},
    spec::{ConnectionOptions, Remembered, ServerSpec},
};

/// How often in a row a server may crash before it is left alone.
const MAX_RESTARTS: u32 = 5;
/// A server that lived so long has its crashes forgiven.
const LONG_LIFE: Duration = Duration::from_mins(1);

/// Where a server stands.
#[derive(Clone)]
pub enum ServerState {
    /// Turned off.
    Off,
    /// Being started for the first time.
    Starting,
    /// Connected.
    Ready {
        /// The open line.
        connection: Connection,
    },
    /// It crashed and is being started again.
    Restarting {
        /// Which attempt this is, from 1.
        attempt: u32,
        /// What happened.
        what: String,
    },
    /// It cannot be used until somebody does something.
    Failed {
        /// What happened.
        what: String,
        /// What to do.
        todo: String,
    },
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => f.write_str("Off"),
            Self::Starting => f.write_str("Starting"),
            Self::Ready { connection } => write!(f, "Ready({})", connection.revision()),
            Self::Restarting { attempt, what } => write!(f, "Restarting({attempt}, {what})"),
            Self::Failed { what, todo } => write!(f, "Failed({what}; {todo})"),
        }
    }
}

impl ServerState {
    /// The open line, if there is one.
    ///
    /// # Errors
    /// There is none; says what the server does instead.
    pub fn connection(&self) -> Result<&Connection, CallError> {
        let state = match self {
            Self::Ready { connection } => return Ok(connection),
            Self::Off => "it is turned off".to_owned(),
            Self::Starting => "it is starting".to_owned(),
            Self::Restarting { what, .. } => format!("it is being started again ({what})"),
            Self::Failed { what, .. } => what.clone(),
        };
        Err(CallError::NotConnected { state })
    }
}

enum Command {
    Enable(bool),
    Restart,
}

/// Says how a server is started, each time that it is: what it is told may have changed since the last time.
pub type Launch =
    Arc<dyn Fn() -> BoxFuture<'static, Result<(ServerSpec, ConnectionOptions), NotLaunched>> + Send + Sync>;

/// Nothing is started, because something is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotLaunched {
    /// What is missing.
    pub what: String,
    /// What to do.
    pub todo: String,
}

/// Keeps one server alive. Dropping it ends the server.
pub struct Supervisor {
    commands: mpsc::UnboundedSender<Command>,
    state: watch::Receiver<ServerState>,
    task: tokio::task::JoinHandle<()>,
}

impl Supervisor {
    /// Starts to keep a server; nothing is spawned while it is not enabled. The receiver tells what happens over all its lives.
    pub fn start(spec: ServerSpec, options: ConnectionOptions, enabled: bool) -> (Self, EventReceiver) {
        let same = (spec, options);
        Self::launch(Arc::new(move || Box::pin(std::future::ready(Ok(same.clone())))), enabled)
    }

    /// The same, with how it is started asked anew each time.
    pub fn launch(launch: Launch, enabled: bool) -> (Self, EventReceiver) {
        let (sender, receiver) = events();
        let (commands, orders) = mpsc::unbounded_channel();
        let (told, state) = watch::channel(if enabled { ServerState::Starting } else { ServerState::Off });
        let keeper = Keeper { launch, remembered: None, events: sender, orders, told, enabled, crashes: 0 };
        let task = tokio::spawn(keeper.keep());
        (Self { commands, state, task }, receiver)
    }

    /// The state, and every change of it.
    pub fn state(&self) -> watch::Receiver<ServerState> {
        self.state.clone()
    }

    /// The open line, if there is one.
    ///
    /// # Errors
    /// There is none; says what the server does instead.
    pub fn connection(&self) -> Result<Connection, CallError> {
        self.state.borrow().connection().cloned()
    }

    /// Waits until the server is connected or cannot be.
    ///
    /// # Errors
    /// It is off or failed; says which.
    pub async fn ready(&self) -> Result<Connection, CallError> {
        let mut state = self.state.clone();
        let settled = |it: &ServerState| match it {
            ServerState::Off | ServerState::Ready { .. } | ServerState::Failed { .. } => true,
            ServerState::Starting | ServerState::Restarting { .. } => false,
        };
        match state.wait_for(settled).await {
            Ok(state) => state.connection().cloned(),
            Err(_) => Err(CallError::NotConnected { state: "it is turned off".to_owned() }),
        }
    }

    /// Turns the server on or off.
    pub fn enable(&self, enabled: bool) {
        self.order(Command::Enable(enabled));
    }

    /// Ends the server and starts it again; also after a failure.
    pub fn restart(&self) {
        self.order(Command::Restart);
    }

    /// Ends the server and waits until all of it is gone.
    pub async fn end(self) {
        let Self { commands, state, task } = self;
        drop((commands, state));
        let _ended = task.await;
    }

    fn order(&self, command: Command) {
        // The keeper lives as long as this sender does.
        let _kept = self.commands.send(command);
    }
}

struct Keeper {
    launch: Launch,
    /// What the last life found out for the next one.
    remembered: Option<Found>,
    events: EventSender,
    orders: mpsc::UnboundedReceiver<Command>,
    told: watch::Sender<ServerState>,
    enabled: bool,
    crashes: u32,
}

/// What ends a state.
enum Next {
    /// Start the server.
    Start,
    /// Wait for an order.
    Rest,
    /// Nobody wants the server any more.
    End,
}

impl Keeper {
    async fn keep(mut self) {
        let mut next = if self.enabled { Next::Start } else { Next::Rest };
        loop {
            next = match next {
                Next::Start => self.live().await,
                Next::Rest => match self.orders.recv().await {
                    Some(order) => self.obey(order),
                    None => Next::End,
                },
                Next::End => return,
            }
        }
    }

    /// One life of the server, from start to end.
    async fn live(&mut self) -> Next {
        let opening = open(&self.launch, self.remembered.clone(), self.events.clone());
        let opened = tokio::select! {
            opened = opening => opened,
            // Dropping the opening ends what it started.
            order = change(&mut self.orders, self.enabled) => return self.obey_or_end(order),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(NotLaunched { what, todo }) => {
                self.tell(ServerState::Failed { what, todo });
                return Next::Rest;
            }
        };
        let connection = match opened {
            Ok(connection) => connection,
            Err(error) if self.crashes > 0 => return self.crashed(error.to_string(), error.todo()).await,
            Err(error) => {
                self.tell(ServerState::Failed { what: error.to_string(), todo: error.todo() });
                return Next::Rest;
            }
        };
        self.remembered = Some(Found(connection.greeting().remember.clone()));
        let born = tokio::time::Instant::now();
        self.tell(ServerState::Ready { connection: connection.clone() });
        tokio::select! {
            exit = connection.closed() => {
                if born.elapsed() >= LONG_LIFE {
                    self.crashes = 0;
                }
                let what = format!("the server ended ({}){}", exit.status, last_line(&exit));
                let todo = "Its last lines often say why. Start it again when the cause is gone.".to_owned();
                self.crashed(what, todo).await
            }
            order = change(&mut self.orders, self.enabled) => {
                let next = self.obey_or_end(order);
                // Two processes of one server might fight over its files.
                connection.close().await;
                next
            }
        }
    }

    async fn crashed(&mut self, what: String, todo: String) -> Next {
        self.crashes += 1;
        if self.crashes > MAX_RESTARTS {
            let what = format!("{what}. It was started again {MAX_RESTARTS} times in a row");
            self.tell(ServerState::Failed { what, todo });
            self.crashes = 0;
            return Next::Rest;
        }
        self.tell(ServerState::Restarting { attempt: self.crashes, what });
        tokio::select! {
            () = tokio::time::sleep(pause(self.crashes)) => Next::Start,
            order = change(&mut self.orders, self.enabled) => self.obey_or_end(order),
        }
    }

    fn obey_or_end(&mut self, order: Option<Command>) -> Next {
        match order {
            Some(order) => self.obey(order),
            None => Next::End,
        }
    }

    fn obey(&mut self, order: Command) -> Next {
        match order {
            Command::Enable(enabled) => self.enabled = enabled,
            Command::Restart => {}
        }
        self.crashes = 0;
        if self.enabled {
            self.tell(ServerState::Starting);
            Next::Start
        } else {
            self.tell(ServerState::Off);
            Next::Rest
        }
    }

    fn tell(&self, state: ServerState) {
        self.told.send_replace(state);
    }
}

/// What a life of the server remembered, or that there was nothing to remember.
#[derive(Clone)]
struct Found(Option<Remembered>);

async fn open(
    launch: &Launch,
    remembered: Option<Found>,
    events: EventSender,
) -> Result<Result<Connection, ConnectError>, NotLaunched> {
    let (spec, mut options) = launch().await?;
    if let Some(Found(remembered)) = remembered {
        options.remembered = remembered;
    }
    Ok(Box::pin(Connection::open(&spec, &options, events)).await)
}

/// The next order that changes something: turning on what is on does not start it again.
async fn change(orders: &mut mpsc::UnboundedReceiver<Command>, enabled: bool) -> Option<Command> {
    loop {
        match orders.recv().await {
            Some(Command::Enable(same)) if same == enabled => {}
            order => return order,
        }
    }
}

fn last_line(exit: &Exit) -> String {
    exit.stderr.iter().rev().find(|it| !it.trim().is_empty()).map(|it| format!(": {it}")).unwrap_or_default()
}

/// The first restart comes at once; the more often, the later.
fn pause(crashes: u32) -> Duration {
    match crashes {
        0 | 1 => Duration::from_millis(100),
        _ => Duration::from_millis(500) * 2_u32.saturating_pow(crashes - 2),
    }
}
