//! A disk that takes nothing for a while, and a conversation that lives through it.
//!
//! Nothing of the product is bent for this: a real file system is filled, the kernel refuses to let a file grow, or another connection
//! holds the database. Deliberately absent: any way to make the store fail from inside.

use std::{
    fmt::Write as _,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use usher_engine::Mode;
use usher_host::conversation::{HostEvent, ItemBody};

use crate::{
    scripted_model::{Answer, Gate, ScriptedModel, call_unknown, say},
    stage::{Setting, Stage, within},
};

/// How a disk is made to take nothing.
#[derive(Debug)]
pub enum Disk {
    /// The file system is filled with a file. It should be a tiny one.
    Filled,
    /// The system lets no file of this process grow beyond a page. The process must ignore the signal that goes with it.
    Limited,
    /// Another connection holds the database.
    Locked(Option<rusqlite::Connection>),
}

/// A file that cannot hold a page of the database and the header of its log.
const ONE_PAGE: u64 = 4096;

impl Disk {
    fn refuse(&mut self, dir: &Path) {
        match self {
            Self::Filled => {
                let mut filler = std::fs::File::create(filler(dir)).unwrap();
                // Whole blocks first, then what is left of the last one.
                for size in [ONE_PAGE, 1] {
                    let block = vec![0; usize::try_from(size).unwrap()];
                    let error = loop {
                        if let Err(error) = filler.write_all(&block) {
                            break error;
                        }
                    };
                    assert_eq!(error.kind(), ErrorKind::StorageFull);
                }
            }
            Self::Limited => {
                let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
                setrlimit(Resource::RLIMIT_FSIZE, ONE_PAGE, hard).unwrap();
            }
            Self::Locked(other) => {
                let connection = rusqlite::Connection::open(dir.join("usher.db")).unwrap();
                connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
                *other = Some(connection);
            }
        }
    }

    fn take_again(&mut self, dir: &Path) {
        match self {
            Self::Filled => std::fs::remove_file(filler(dir)).unwrap(),
            Self::Limited => {
                let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
                setrlimit(Resource::RLIMIT_FSIZE, hard, hard).unwrap();
            }
            Self::Locked(other) => drop(other.take()),
        }
    }
}

fn filler(dir: &Path) -> PathBuf {
    dir.join("filler")
}

/// What the process does whose disk is `filled` or `limited`: plays in a folder and prints what the user met.
///
/// # Panics
/// If something is lost; its parent sees that too little is printed.
pub fn run(arguments: Vec<String>) {
    let [how, dir] = arguments.try_into().expect("how, and a folder");
    let disk = if how == "filled" { Disk::Filled } else { Disk::Limited };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let met = runtime.block_on(play(disk, Path::new(&dir)));
    std::io::stdout().write_all(met.as_bytes()).unwrap();
}

/// Holds a conversation in an empty folder while the disk takes nothing from the middle of an answer on, and then takes everything again.
/// Gives what the user met, in lines, with `DIR` for the folder.
///
/// # Panics
/// If something that was shown or acknowledged is lost, or something is sent to the model that is not recorded.
pub async fn play(mut disk: Disk, dir: &Path) -> String {
    let mut setting = Setting::with(Vec::new());
    setting.store.busy = Duration::from_millis(100);
    setting.store.retry = Duration::from_millis(50);
    let stage = Stage::open_in(dir, &setting).await;
    let gate = Gate::default();
    let spoken = Answer::new().text(["Before. "]).gate(&gate).text(["Meanwhile."]);
    let model = ScriptedModel::start([
        say(["A heron, I see."]),
        call_unknown("a_tool_that_nobody_offers").after(spoken),
        say(["After."]),
        say(["Here it is."]),
    ])
    .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Look, a heron.").await;
    stage.host.send_message(&conversation, "Speak.", Default::default()).await.unwrap();
    within(gate.reached()).await;
    let begun =
        |event: &HostEvent| matches!(event, HostEvent::Text { text, .. } if text == "Before. ").then_some(());
    stage.told(begun).await;

    disk.refuse(dir);
    gate.open();
    stage.ended(&conversation).await;
    let mut met = refused(&stage, &model, &conversation).await;
    // Reading goes on: what is on disk, and what is in memory only.
    assert_eq!(stage.host.search("heron").await.unwrap().len(), 3, "a title, a message and an answer");
    let first = stage.opened(&conversation).await.exchanges.swap_remove(0);
    assert_eq!(stage.host.exchange_body(&first.id).await.unwrap().body.as_bytes(), model.received()[0].body);
    met.push(format!("shown: {}", texts(&stage, &conversation).await));
    let notices = stage.events().into_iter().filter_map(|event| match event {
        HostEvent::Notice(it) => Some(format!("notice: {} {} {}", it.what, it.safe, it.todo)),
        _ => None,
    });
    met.extend(notices);

    disk.take_again(dir);
    stage.told(|event| matches!(event, HostEvent::NoticeCleared(_)).then_some(())).await;
    stage.host.retry_turn(&conversation).await.unwrap();
    stage.ended(&conversation).await;
    assert_eq!(stage.failure(&conversation).await, None);
    stage.turn(&conversation, "Keep this.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    met.push(format!("at last: {}", texts(&stage, &conversation).await));
    let before = stage.opened(&conversation).await;
    stage.close().await;

    let stage = Stage::reopen(dir, &setting).await;
    let after = stage.opened(&conversation).await;
    assert_eq!((&after.items, &after.calls, &after.ledger), (&before.items, &before.calls, &before.ledger));
    // Whatever the model was sent is on disk, byte for byte.
    assert_eq!(after.exchanges.len(), model.received().len());
    for (exchange, request) in after.exchanges.iter().zip(model.received()) {
        assert_eq!(stage.host.exchange_body(&exchange.id).await.unwrap().body.as_bytes(), request.body);
    }
    stage.close().await;
    let place = dir.to_string_lossy();
    met.iter().fold(String::new(), |mut all, line| {
        writeln!(all, "{}", line.replace(&*place, "DIR")).unwrap();
        all
    })
}

/// What the user is told of a turn, a message and a conversation that the disk refuses.
async fn refused(stage: &Stage, model: &ScriptedModel, conversation: &str) -> Vec<String> {
    let turn = stage.failure(conversation).await.unwrap_or_default();
    let message = stage.host.send_message(conversation, "Keep this.", Default::default()).await.unwrap_err();
    let new = stage.conversation_refused(model).await;
    assert_eq!(model.received().len(), 2, "what could not be recorded was not sent");
    vec![format!("turn: {turn}"), format!("message: {message}"), format!("new conversation: {new}")]
}

/// What the user and the model wrote, as it is shown.
async fn texts(stage: &Stage, conversation: &str) -> String {
    let opened = stage.opened(conversation).await;
    let said =
        opened.items.into_iter().filter(|it| matches!(it.body, ItemBody::User | ItemBody::Assistant(_)));
    said.map(|it| it.text).collect::<Vec<_>>().join(" | ")
}
