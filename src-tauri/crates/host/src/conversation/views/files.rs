//! Files that a View has saved: the user is shown each name, its size or where it is read from, and where all go; then that is done.
//!
//! Nothing is read from a server before the yes, and afterwards one file at a time. Deliberately absent: a choice of the place. Files go
//! where outputs go, under names that are free there.

use std::{path::Path, sync::Arc};

use serde_json::json;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use usher_engine::ledger::LedgerEntry;
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

use super::{
    super::{Asked, Host, ItemBody, ViewFile, ViewFileBody, lock, outputs::write_new},
    requests::{Asking, gone, unreachable_server},
};
use crate::app_view::{
    consent::Kind,
    download::{self, FileBody, WantedFile},
    rate::Lane,
};

/// How many files are read from servers at once for all Views, each of at most `download::MOST_BYTES`. Further ones wait.
const MOST_READS: usize = 4;

/// Where there is room to read files for Views.
#[derive(Clone)]
pub(super) struct Reads(Arc<Semaphore>);

impl Default for Reads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_READS)))
    }
}

impl Host {
    /// `ui/download-file`: saves files, if the user lets the View.
    pub(super) async fn save_for_view(
        &self,
        of: &Asking<'_>,
        wanted: Vec<WantedFile>,
    ) -> Result<RawJson, ErrorObject> {
        let folder = self.surroundings().downloads.clone();
        let folder = folder.ok_or_else(|| unreachable_server("there is no folder for downloads here"))?;
        let _one = self.begin_saving(of)?;
        let names = download::names(&wanted);
        let asked = |view| {
            let file = |(name, wanted): (&String, &WantedFile)| ViewFile {
                name: name.clone(),
                body: match &wanted.body {
                    FileBody::Here(bytes) => ViewFileBody::Sent(bytes.len() as u64),
                    FileBody::AtServer => ViewFileBody::AtServer(wanted.uri.clone()),
                },
            };
            let files = names.iter().zip(&wanted).map(file).collect();
            Asked::ViewFiles { view, files, folder: folder.display().to_string() }
        };
        let refused = || Ok(json!({"isError": true}).into());
        if !self.consents((of.view_id, of.call), Kind::Files, asked, of.end).await {
            return refused();
        }
        let mut lines = Vec::new();
        let (mut is_whole, mut total) = (true, 0);
        for (name, wanted) in names.iter().zip(wanted) {
            match self.save_file(of, (&folder, name), wanted, &mut total).await {
                Ok(line) => lines.push(line),
                Err(why) => {
                    is_whole = false;
                    lines.push(format!("could not save {name}: {why}"));
                }
            }
        }
        let text = format!("The View of {} {}.", of.call.server_name, lines.join("; "));
        let fact =
            LedgerEntry::Approved { answer: format!("you let its View save files: {}", lines.join("; ")) };
        self.record(of.live, Some(&of.call.id), fact);
        let _kept = self.add_item(of.live, ItemBody::Note, text).await;
        if is_whole { Ok(json!({}).into()) } else { refused() }
    }

    /// A View has files of one request saved at a time.
    fn begin_saving(&self, of: &Asking<'_>) -> Result<OwnedMutexGuard<()>, ErrorObject> {
        let saves = lock(&self.0.views).open.get(of.view_id).map(|it| Arc::clone(&it.saves));
        let saves = saves.ok_or_else(gone)?;
        saves.try_lock_owned().map_err(|_| unreachable_server("other files of this View are not saved yet"))
    }

    /// Saves one file, and says so; or says why not. `total` counts the bytes of all that the request names.
    async fn save_file(
        &self,
        of: &Asking<'_>,
        (folder, name): (&Path, &str),
        WantedFile { uri, body }: WantedFile,
        total: &mut usize,
    ) -> Result<String, String> {
        // The place is kept until the bytes are on the disk.
        let (bytes, _place) = match body {
            FileBody::Here(bytes) => (bytes, None),
            FileBody::AtServer => {
                let (bytes, place) = self.read_file(of, &uri).await.map_err(|error| error.message)?;
                (bytes, Some(place))
            }
        };
        let size = bytes.len();
        *total = total.saturating_add(size);
        download::fits(*total).map_err(|error| error.message)?;
        if of.end.is_cancelled() {
            return Err(gone().message);
        }
        let path = write_new(folder, name, bytes).await.map_err(|error| error.what)?;
        Ok(format!("saved {} ({size} bytes)", path.display()))
    }

    /// Reads a file from the View's server, as a request of the View to it, when there is room.
    async fn read_file(
        &self,
        of: &Asking<'_>,
        uri: &str,
    ) -> Result<(Vec<u8>, OwnedSemaphorePermit), ErrorObject> {
        let connection = self.connection_for_view(of.call)?;
        let reads = lock(&self.0.views).reads.clone();
        let place = tokio::select! {
            place = reads.0.acquire_owned() => place.map_err(|_| gone())?,
            () = of.end.cancelled() => return Err(gone()),
        };
        self.admit(of.view_id, (Lane::Server, uri.len()), of.end).await?;
        let answer = tokio::select! {
            answer = connection.read_resource(uri) => answer.map_err(|error| unreachable_server(&error.in_short())),
            () = of.end.cancelled() => Err(gone()),
        };
        self.finish(of.view_id);
        let bytes = download::bytes_of(uri, &answer?).map_err(|why| unreachable_server(&why))?;
        Ok((bytes, place))
    }
}
