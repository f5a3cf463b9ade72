//! The way of Views to the network: a tunnel for what a live View was granted, which ends with the last such View.
//!
//! Deliberately absent: sockets. The window's proxy holds them and asks here.

use tokio_util::sync::CancellationToken;

use super::{
    super::{Host, lock},
    Views,
};
use crate::app_view::{
    egress::{self, NoPassage, Refused, Target},
    resource::Permissions,
};

/// A tunnel that may be open. It counts until it is dropped.
pub struct Tunnel {
    host: Host,
    id: u64,
    end: CancellationToken,
}

impl Tunnel {
    /// Waits until no live View is granted the target any more. The connection must end then.
    pub async fn ended(&self) {
        self.end.cancelled().await;
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        lock(&self.host.0.views).tunnels.remove(&self.id);
    }
}

impl Views {
    /// Ends the tunnels that no live View is granted any more.
    pub(super) fn end_tunnels(&mut self) {
        let Self { registry, tunnels, .. } = self;
        for (target, end) in tunnels.values() {
            if !egress::admits(registry.all().map(|it| &it.csp), target) {
                end.cancel();
            }
        }
    }
}

impl Host {
    /// Lets a tunnel to a target be opened, if a live View was granted it.
    pub fn open_tunnel(&self, target: &Target) -> Option<Tunnel> {
        let mut views = lock(&self.0.views);
        if !egress::admits(views.registry.all().map(|it| &it.csp), target) {
            return None;
        }
        views.newest_tunnel += 1;
        let (id, end) = (views.newest_tunnel, CancellationToken::new());
        views.tunnels.insert(id, (target.clone(), end.clone()));
        Some(Tunnel { host: self.clone(), id, end })
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
