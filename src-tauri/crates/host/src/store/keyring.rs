//! A keyring, such as the operating system's, asked on a thread of its own: one that does not answer holds nobody up for long.
//!
//! Deliberately absent: any keyring. Whoever opens the store gives one, or none.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, SyncSender, TrySendError},
    },
    time::Duration,
};

/// A place for secrets that the operating system keeps. Calls may block, and may ask the person to unlock it.
pub trait Keyring: Send + Sync {
    /// What it is called, for people.
    fn name(&self) -> String;

    /// An entry.
    ///
    /// # Errors
    /// The keyring is not there, or refuses; says why, without a secret.
    fn entry(&self, account: &str) -> Result<Option<String>, String>;

    /// Keeps an entry, or forgets it.
    ///
    /// # Errors
    /// The keyring is not there, or refuses; says why, without a secret.
    fn keep_entry(&self, account: &str, value: Option<&str>) -> Result<(), String>;
}

/// Where secrets are kept.
#[derive(Clone, Default)]
pub enum SecretPlace {
    /// In a file beside the database that only its owner may read.
    #[default]
    File,
    /// In this keyring, and in the file if it cannot be used. It is not asked before the first secret is wanted.
    Keyring(Arc<dyn Keyring>),
}

impl fmt::Debug for SecretPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("File"),
            Self::Keyring(keyring) => f.debug_tuple("Keyring").field(&keyring.name()).finish(),
        }
    }
}

type Act = Box<dyn FnOnce(&dyn Keyring) + Send>;

/// The one thread that asks a keyring.
pub(super) struct Asked {
    keyring: Arc<dyn Keyring>,
    patience: Duration,
    acts: Mutex<Option<SyncSender<Act>>>,
}

impl Asked {
    pub(super) fn new(keyring: Arc<dyn Keyring>, patience: Duration) -> Self {
        Self { keyring, patience, acts: Mutex::new(None) }
    }

    pub(super) fn name(&self) -> String {
        self.keyring.name()
    }

    pub(super) fn entry(&self, account: &str) -> Result<Option<String>, String> {
        let account = account.to_owned();
        self.ask(move |keyring| keyring.entry(&account))
    }

    pub(super) fn keep_entry(&self, account: &str, value: Option<&str>) -> Result<(), String> {
        let (account, value) = (account.to_owned(), value.map(str::to_owned));
        self.ask(move |keyring| keyring.keep_entry(&account, value.as_deref()))
    }

    fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&dyn Keyring) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let act: Act = Box::new(move |keyring| {
            // Who asked may have gone on without the answer.
            let _gone = answer.send(act(keyring));
        });
        // The thread takes an act only when it is done with the last one: while a keyring hangs, nobody else waits for it.
        self.send(act)?;
        match answered.recv_timeout(self.patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("it did not answer within {} s", self.patience.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err("it failed".to_owned()),
        }
    }

    fn send(&self, act: Act) -> Result<(), String> {
        let mut acts = self.acts.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*acts {
            Some(sender) => sender.clone(),
            None => {
                let (sender, receiver) = mpsc::sync_channel::<Act>(1);
                let keyring = Arc::clone(&self.keyring);
                let body = move || receiver.into_iter().for_each(|act| act(&*keyring));
                let thread = std::thread::Builder::new().name("usher-keyring".to_owned()).spawn(body);
                thread.map_err(|error| format!("there is no thread for it ({error})"))?;
                acts.insert(sender).clone()
            }
        };
        match sender.try_send(act) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err("it has not answered for a while".to_owned()),
            Err(TrySendError::Disconnected(_)) => {
                // It panicked; the next one may not.
                *acts = None;
                Err("it failed".to_owned())
            }
        }
    }
}
