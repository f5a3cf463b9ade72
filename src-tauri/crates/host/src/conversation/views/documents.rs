//! What a View is made of: its document and its tool's declaration, from the server or from the record.

use std::sync::Arc;

use usher_protocol::{RawJson, codec, model::Tool};

use super::super::{CallRecord, Host, HostError, ViewRecord, live::Live};
use crate::{
    app_view::resource::{self, ResourceError, ViewResource},
    connection::CallError,
};

impl Host {
    /// The declaration of a call's tool as it was then, so that a View of an earlier run can be shown without its server.
    pub(super) async fn tool_of(&self, call: &CallRecord) -> Result<Tool, HostError> {
        let handle = call
            .view
            .as_ref()
            .and_then(|it| it.tool_handle.clone())
            .ok_or_else(|| HostError::unknown("tool"))?;
        let raw = self.payload(&handle).await?;
        let revision = call.revision.ok_or_else(|| HostError::unknown("tool"))?;
        let list =
            RawJson::parse(format!(r#"{{"tools":[{raw}]}}"#)).map_err(|_| HostError::unknown("tool"))?;
        let (page, _) = codec::decode_tools(revision, &list).map_err(|_| HostError::unknown("tool"))?;
        page.tools.into_iter().next().ok_or_else(|| HostError::unknown("tool"))
    }

    /// The document of a View, judged. The first that is good is recorded, so that history shows what was shown.
    pub(super) async fn document(
        &self,
        live: &Arc<Live>,
        call: &CallRecord,
        view: &ViewRecord,
    ) -> Result<ViewResource, HostError> {
        let uri = &view.resource_uri;
        let not_shown = |error: ResourceError| {
            HostError::new(
                format!("The View cannot be shown: {error}"),
                "The result is kept.",
                "Report it to the server's authors, and open the View again when it is mended.",
            )
        };
        if let Some(handle) = &view.resource_handle {
            let raw = self.payload(handle).await?;
            let listed = match &view.listed_handle {
                Some(handle) => Some(self.payload(handle).await?),
                None => None,
            };
            return resource::read(uri, &raw, listed.as_ref()).map(|it| it.0).map_err(not_shown);
        }
        let refused = |why: String| {
            HostError::new(
                format!("The View's document {uri} could not be read: {why}."),
                "The result is kept.",
                "Start the server and open the View again.",
            )
        };
        let server =
            self.server(&call.server_id).ok_or_else(|| refused("its server was removed".to_owned()))?;
        let (connection, _) = server.connection().map_err(|error| refused(error.to_string()))?;
        let read = connection.read_resource(uri).await;
        let raw = read.map_err(|error| refused(server.without_secrets(error).to_string()))?;
        // What the content does not say of itself, its entry in the list may (MCP Apps 2026-01-26, "UI Resource Format").
        let (listed, is_all_known) = match resource::says_ui(&raw) {
            true => (None, true),
            false => match connection.list_resources().await {
                Ok(pages) => (resource::listed_meta(uri, &pages), true),
                // A server without lists says so; one that failed may say more the next time.
                Err(error) => (None, matches!(error, CallError::Server { .. })),
            },
        };
        let document = match resource::read(uri, &raw, listed.as_ref()) {
            Ok((document, _)) => document,
            Err(error) => {
                // Nothing of it is kept, so that the next try reads what the server has by then; but history says why there is none.
                let why = error.to_string();
                self.change_call(live, &call.id, |call| {
                    if let Some(view) = call.view.as_mut().filter(|it| it.resource_handle.is_none()) {
                        view.refused = Some(why);
                    }
                })
                .await;
                return Err(not_shown(error));
            }
        };
        if !is_all_known {
            return Ok(document);
        }
        let handle = match self.same_document(live, call, uri, &raw).await {
            Some(handle) => handle,
            None => self.keep_payload(live, &call.id, None, &format!("the document {uri}"), &raw),
        };
        let listed = listed
            .map(|it| self.keep_payload(live, &call.id, None, &format!("what is listed of {uri}"), &it));
        self.change_call(live, &call.id, |call| {
            // Two frames may have read it at once; the first is what history shows.
            if let Some(view) = call.view.as_mut().filter(|it| it.resource_handle.is_none()) {
                (view.resource_handle, view.listed_handle, view.refused) = (Some(handle), listed, None);
            }
        })
        .await;
        Ok(document)
    }

    /// The document as another View of the conversation has it already; those of one tool mostly have the same.
    async fn same_document(
        &self,
        live: &Live,
        call: &CallRecord,
        uri: &str,
        raw: &RawJson,
    ) -> Option<String> {
        let handle = live.with(|it| {
            let others = it.calls.values().rev().filter(|it| it.server_id == call.server_id);
            let mut views = others.filter_map(|it| it.view.as_ref()).filter(|it| it.resource_uri == uri);
            views.find_map(|it| it.resource_handle.clone())
        })?;
        let kept = self.payload(&handle).await.ok()?;
        (kept.get() == raw.get()).then_some(handle)
    }

    /// Why the View of a call cannot be opened any more, whatever is tried; `None` where it is worth trying.
    pub fn why_no_view(&self, call: &CallRecord) -> Option<&'static str> {
        let view = call.view.as_ref()?;
        if view.tool_handle.is_none() || call.revision.is_none() {
            return Some(
                "What its tool declared was not recorded, so this View cannot be started again. The result is kept.",
            );
        }
        if view.resource_handle.is_none() && self.server(&call.server_id).is_none() {
            return Some(
                "This View was never opened, so its page was not recorded, and its server was removed. The result is kept.",
            );
        }
        None
    }
}
