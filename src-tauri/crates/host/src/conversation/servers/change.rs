//! Adding, changing and pinning servers.

use usher_protocol::Revision;

use super::{Server, StoredLaunch, StoredSpec, launch::secret_name, read_spec};
use crate::{
    configuration,
    conversation::{Host, HostError},
    store::ServerRow,
};

impl Host {
    /// Adds a server, or changes how one is reached. A secret that comes with a value is put among the secrets; one without keeps the
    /// value that it has. What looks like a secret by its name is kept as one, whatever is said.
    ///
    /// # Errors
    /// Another server has the name, or the disk refuses.
    pub async fn save_server(
        &self,
        id: Option<String>,
        name: String,
        spec: StoredSpec,
    ) -> Result<String, HostError> {
        let enabled = id.as_deref().and_then(|it| self.server(it)).is_none_or(|it| it.facts().row.enabled);
        self.put_server(id, name, spec, enabled, &[]).await
    }

    /// The same, with whether it is to run and with what was said for its inputs.
    pub(super) async fn put_server(
        &self,
        id: Option<String>,
        name: String,
        spec: StoredSpec,
        enabled: bool,
        inputs: &[(String, String)],
    ) -> Result<String, HostError> {
        let id = id.unwrap_or_else(|| self.new_id());
        // Scripts and the command line know servers by their names.
        if self.all_servers().values().any(|it| it.name == name && it.id != id) {
            let what = format!("There is a server named {name} already.");
            return Err(HostError::new(what, "Nothing was changed.", "Give this one another name."));
        }
        let old = self.server(&id).map(|it| it.facts().row.clone());
        let sort = old.as_ref().map_or_else(|| self.now_ms(), |it| it.sort);
        let mut spec = spec;
        let mut secrets: Vec<(String, Option<String>)> = Vec::new();
        let word = spec.launch.word();
        for pair in spec.launch.pairs_mut() {
            let value = pair.value.as_deref().unwrap_or_default();
            pair.secret |= configuration::looks_secret(&pair.name, value);
            if pair.secret
                && let Some(value) = pair.value.take()
            {
                secrets.push((secret_name(&id, word, &pair.name), Some(value)));
            }
        }
        let said =
            inputs.iter().map(|(input, value)| (secret_name(&id, "input", input), Some(value.clone())));
        secrets.extend(said);
        let gone = old.as_ref().map(|it| read_spec(&it.spec).launch.secret_names(&id)).unwrap_or_default();
        let kept = spec.launch.secret_names(&id);
        secrets.extend(gone.into_iter().filter(|it| !kept.contains(it)).map(|it| (it, None)));
        self.keep_secrets(secrets).await?;
        let spec_json = serde_json::to_string(&spec).unwrap_or_default();
        // What was found out about the revision was found out about another spec.
        let row = ServerRow { id: id.clone(), name, spec: spec_json, enabled, era: None, sort };
        self.store().refusing().put_server(row.clone()).await?;
        self.forget_server(&id).await;
        self.keep_server(row);
        Ok(id)
    }

    /// The name of a server and how it is reached, without the values of secrets.
    ///
    /// # Errors
    /// There is no such server.
    pub fn server_spec(&self, id: &str) -> Result<(String, StoredSpec), HostError> {
        let server = self.server(id).ok_or_else(|| HostError::unknown("server"))?;
        let spec = server.facts().spec.clone();
        Ok((server.name.clone(), spec))
    }

    /// Speaks only this revision with a server, or negotiates again.
    ///
    /// # Errors
    /// There is no such server, or the disk refuses.
    pub async fn pin_revision(&self, id: &str, revision: Option<Revision>) -> Result<(), HostError> {
        let server = self.server(id).ok_or_else(|| HostError::unknown("server"))?;
        let (name, spec) = (server.name.clone(), server.facts().spec.clone());
        self.save_server(Some(id.to_owned()), name, StoredSpec { pinned: revision, ..spec }).await?;
        Ok(())
    }

    /// Forgets what was kept for a server that is gone. What cannot be forgotten is never used again, so that a failure is only logged.
    pub(super) async fn forget_secrets(&self, gone: &Server) {
        let spec = gone.facts().spec.clone();
        // Before the secrets go, because its address may hold one.
        let authorization = match self.authorization_of(gone, &spec).await {
            Ok(authorization) => authorization,
            Err(it) => {
                tracing::warn!(what = it.what, "the sign-in at a removed server is left");
                None
            }
        };
        let names = spec.launch.secret_names(&gone.id);
        if let Err(error) = self.keep_secrets(names.into_iter().map(|it| (it, None)).collect()).await {
            tracing::warn!(%error, "secrets of a removed server are left");
        }
        let shares = |it: &StoredLaunch| match (it, &spec.launch) {
            (StoredLaunch::Http { url, .. }, StoredLaunch::Http { url: gone, .. }) => url == gone,
            (StoredLaunch::Http { .. } | StoredLaunch::Stdio { .. }, _) => false,
        };
        let is_shared = self.all_servers().values().any(|it| shares(&it.facts().spec.launch));
        if let Some(authorization) = authorization.filter(|_| !is_shared)
            && let Err(why) = authorization.sign_out().await
        {
            tracing::warn!(%why, "the sign-in at a removed server is left");
        }
    }

    pub(in crate::conversation) async fn keep_secrets(
        &self,
        all: Vec<(String, Option<String>)>,
    ) -> Result<(), HostError> {
        if all.is_empty() {
            return Ok(());
        }
        let host = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            all.iter().try_for_each(|(name, value)| host.store().secrets().set(name, value.as_deref()))
        });
        let failed = |error: tokio::task::JoinError| {
            HostError::new(
                format!("The secrets could not be kept: {error}."),
                "Nothing was changed.",
                "Try again.",
            )
        };
        Ok(written.await.map_err(failed)??)
    }
}
