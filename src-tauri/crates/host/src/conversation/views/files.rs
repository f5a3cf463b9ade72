//! Files that a View has saved: the user is shown each name and size and where they go, and what was shown is what is written.
//!
//! Deliberately absent: a choice of the place. Files go where outputs go, under names that are free there.

use serde_json::json;
use usher_engine::ledger::LedgerEntry;
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

use super::{
    super::{Asked, Host, ItemBody, ViewFile, outputs::write_new},
    requests::{Asking, unreachable_server},
};
use crate::{
    app_view::{
        consent::Kind,
        download::{self, FileBody, WantedFile},
    },
    payload::safe_name,
};

impl Host {
    /// `ui/download-file`: saves files, if the user lets the View.
    pub(super) async fn save_for_view(
        &self,
        of: &Asking<'_>,
        wanted: Vec<WantedFile>,
    ) -> Result<RawJson, ErrorObject> {
        let folder = self.surroundings().downloads.clone();
        let folder = folder.ok_or_else(|| unreachable_server("there is no folder for downloads here"))?;
        let files = self.read_files(of, wanted).await?;
        let asked = |view| {
            let file = |(name, bytes): &(String, Vec<u8>)| ViewFile {
                name: name.clone(),
                bytes: bytes.len() as u64,
            };
            let files = files.iter().map(file).collect();
            Asked::ViewFiles { view, files, folder: folder.display().to_string() }
        };
        let refused = || Ok(json!({"isError": true}).into());
        if !self.consents((of.view_id, of.call), Kind::Files, asked, of.end).await {
            return refused();
        }
        let mut lines = Vec::new();
        let mut is_whole = true;
        for (name, bytes) in files {
            let size = bytes.len();
            match write_new(&folder, &name, bytes).await {
                Ok(path) => lines.push(format!("saved {} ({size} bytes)", path.display())),
                Err(error) => {
                    is_whole = false;
                    lines.push(format!("could not save {name}: {}", error.what));
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

    /// The name and the bytes of each file. Those of links are read before the user is asked, so that the question knows them.
    async fn read_files(
        &self,
        of: &Asking<'_>,
        wanted: Vec<WantedFile>,
    ) -> Result<Vec<(String, Vec<u8>)>, ErrorObject> {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for WantedFile { uri, body } in wanted {
            let bytes = match body {
                FileBody::Here(bytes) => bytes,
                FileBody::AtServer => {
                    let connection = self.connection_for_view(of.call)?;
                    let answer = tokio::select! {
                        answer = connection.read_resource(&uri) => answer,
                        () = of.end.cancelled() => return Err(super::requests::gone()),
                    };
                    let answer = answer.map_err(|error| unreachable_server(&error.in_short()))?;
                    download::bytes_of(&uri, &answer).map_err(|why| unreachable_server(&why))?
                }
            };
            files.push((safe_name(&uri, "file"), bytes));
            download::fits(files.iter().map(|it| it.1.len()).sum())?;
        }
        Ok(files)
    }
}
