//! The way of Views to the network: a tunnel for what a live View was granted, which ends with the last such View, or when the domain is
//! taken back from one of them.
//!
//! Deliberately absent: sockets. The window's proxy holds them and asks here.

use std::collections::{BTreeMap, BTreeSet};

use tokio_util::sync::CancellationToken;

use super::{
    super::{Host, lock},
    Views,
};
use crate::app_view::{
    access::Wish,
    egress::{self, NoPassage, Refused, Target},
    resource::Permissions,
};

/// The tunnels that are open.
#[derive(Default)]
pub(super) struct Tunnels {
    open: BTreeMap<u64, Open>,
    newest: u64,
}

struct Open {
    target: Target,
    /// The server in whose share it is counted.
    server_id: String,
    end: CancellationToken,
}

/// A tunnel that may be open. It counts until it is dropped.
pub struct Tunnel {
    host: Host,
    id: u64,
    end: CancellationToken,
}

impl Tunnel {
    /// Waits until no live View is granted the target any more, or the user takes it back. The connection must end then.
    pub async fn ended(&self) {
        self.end.cancelled().await;
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        lock(&self.host.0.views).tunnels.open.remove(&self.id);
    }
}

impl Views {
    /// Ends the tunnels that no live View is granted any more.
    pub(super) fn end_tunnels(&mut self) {
        let Self { registry, tunnels, .. } = self;
        for it in tunnels.open.values() {
            if !egress::admits(registry.all().map(|it| &it.csp), &it.target) {
                it.end.cancel();
            }
        }
    }

    /// Ends the tunnels to what was taken back, also where another live View may go on going there: it opens a new one.
    pub(super) fn end_tunnels_to(&self, taken: &BTreeSet<Wish>) {
        for it in self.tunnels.open.values() {
            if taken.iter().any(|wish| wish.reaches(&it.target.host, it.target.port)) {
                it.end.cancel();
            }
        }
    }
}

impl Host {
    /// Lets a tunnel to a target be opened, if a live View was granted it and its server's Views have room for it.
    ///
    /// # Errors
    /// Why it does not pass.
    pub fn open_tunnel(&self, target: &Target) -> Result<Tunnel, NoPassage> {
        let mut views = lock(&self.0.views);
        let Views { registry, tunnels, .. } = &mut *views;
        let granted: BTreeSet<&str> = registry
            .all()
            .filter(|it| it.csp.reaches(&target.host, target.port))
            .map(|it| it.server_id.as_str())
            .collect();
        let has = |server: &str| tunnels.open.values().filter(|it| it.server_id == server).count();
        let server_id = egress::share(&granted, has, tunnels.open.len())?.to_owned();
        tunnels.newest += 1;
        let (id, end) = (tunnels.newest, CancellationToken::new());
        tunnels.open.insert(id, Open { target: target.clone(), server_id, end: end.clone() });
        Ok(Tunnel { host: self.clone(), id, end })
    }

    /// Remembers that a request of the web view to the network did not pass.
    pub fn note_refused(&self, target: Target, why: NoPassage) {
        lock(&self.0.views).refusals.note(target, why);
    }

    /// What did not pass, the last one last. Which View asked is not known: they share one way out.
    pub fn refused_targets(&self) -> Vec<Refused> {
        lock(&self.0.views).refusals.all()
    }

    /// The features that some live View was granted. The web view asks without saying for whom; that no other frame has them is the
    /// work of each frame's own policy.
    pub fn granted_features(&self) -> Permissions {
        lock(&self.0.views).registry.all().fold(Permissions::default(), |all, it| all.or(it.permissions))
    }
}
