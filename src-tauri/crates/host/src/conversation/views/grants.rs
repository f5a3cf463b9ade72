//! What the user lets the Views of a server have beyond their own pages: each domain and each feature by itself.
//!
//! Nothing is granted that was not allowed. A View starts at once with what it has, and what it wishes for and nobody answered yet is
//! asked once: a yes and a no are kept for the server, so that only what is new in a declaration is asked again. What a View has holds
//! from its start to its end, for a page's policy cannot change while it runs: so a View ends when something that it has is taken back.
//! Deliberately absent: what may be allowed at all, which is the policy's grammar.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    super::{Asked, Host, HostError, HostEvent, NoticeLevel, lock, questions::Asker},
    Views,
};
use crate::{
    app_view::{
        access::{self, Wish},
        registry::LiveView,
    },
    connection::Elicited,
    store::{Store, StoreError},
};

const KEY: &str = "view-access/";

/// How many answers are kept for the Views of one server.
const MOST_ANSWERS: usize = 1_024;

/// How many things are named that a View lost.
const MOST_NAMED: usize = 3;

/// What was answered for the Views of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewAccess {
    /// What they may have if they wish for it.
    pub allowed: BTreeSet<Wish>,
    /// What they may not have and is not asked again.
    pub refused: BTreeSet<Wish>,
}

/// What was answered for each server, by its id.
#[derive(Default)]
pub(in crate::conversation) struct Access {
    known: std::sync::Mutex<BTreeMap<String, ViewAccess>>,
    /// One change after the other, so that none is lost.
    writes: tokio::sync::Mutex<()>,
}

/// How a wish of an open View stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WishState {
    /// The View has it.
    Granted,
    /// It was allowed since the View was opened, and is there when it starts again.
    Allowed,
    /// Nobody answered yet.
    Open,
    /// The user said no.
    Refused,
}

pub(in crate::conversation) async fn load(store: &Store) -> Result<Access, StoreError> {
    let of = |(key, value): (String, String)| Some((key.strip_prefix(KEY)?.to_owned(), read(&value)?));
    let known = store.settings().await?.into_iter().filter_map(of).collect();
    Ok(Access { known: std::sync::Mutex::new(known), writes: tokio::sync::Mutex::default() })
}

/// What an earlier version kept and this one would never allow is not allowed, and nobody is offered to allow it.
fn read(value: &str) -> Option<ViewAccess> {
    let mut access: ViewAccess = serde_json::from_str(value).ok()?;
    access.allowed.retain(Wish::is_proper);
    access.refused.retain(Wish::is_proper);
    Some(access)
}

impl Host {
    /// What was answered for the Views of a server.
    pub fn view_access(&self, server_id: &str) -> ViewAccess {
        lock(&self.0.access.known).get(server_id).cloned().unwrap_or_default()
    }

    /// Allows Views of a server something, or takes it back. An open View that has what is taken back ends at once, and so do all
    /// connections there; what is allowed is there when a View starts again.
    ///
    /// # Errors
    /// There is no such server, a wish is none that may be allowed, too many are kept, or the disk refuses.
    pub async fn set_view_access(
        &self,
        server_id: &str,
        wishes: BTreeSet<Wish>,
        allowed: bool,
    ) -> Result<(), HostError> {
        self.answer_wishes(server_id, wishes, allowed, None).await
    }

    async fn answer_wishes(
        &self,
        server_id: &str,
        wishes: BTreeSet<Wish>,
        allowed: bool,
        asked_by: Option<&str>,
    ) -> Result<(), HostError> {
        self.server(server_id).ok_or_else(|| HostError::unknown("server"))?;
        let refuse = |what: String, todo: &str| Err(HostError::new(what, "Nothing was changed.", todo));
        if let Some(wish) = wishes.iter().find(|it| allowed && !it.is_proper()) {
            return refuse(format!("{:?} is never allowed.", wish.what), "Choose what a View declares.");
        }
        let _turn = self.0.access.writes.lock().await;
        let mut next = self.view_access(server_id);
        let (to, from) = match allowed {
            true => (&mut next.allowed, &mut next.refused),
            false => (&mut next.refused, &mut next.allowed),
        };
        from.retain(|it| !wishes.contains(it));
        to.extend(wishes.into_iter().filter(Wish::is_proper));
        if next.allowed.len() + next.refused.len() > MOST_ANSWERS {
            return refuse(
                format!("More than {MOST_ANSWERS} answers for the Views of one server are not kept."),
                "Forget the answers in the server's details.",
            );
        }
        // A no counts before it is on disk, and a yes only then.
        if !allowed {
            self.put_access(server_id, next.clone(), None);
        }
        let json = serde_json::to_string(&next).unwrap_or_default();
        self.store().refusing().put_setting(format!("{KEY}{server_id}"), json).await?;
        if allowed {
            self.put_access(server_id, next, asked_by);
        }
        Ok(())
    }

    /// Forgets what was answered for the Views of a server: they have nothing, and are asked about again.
    ///
    /// # Errors
    /// The disk refuses; they have nothing until Usher ends all the same.
    pub async fn forget_view_access(&self, server_id: &str) -> Result<(), HostError> {
        let _turn = self.0.access.writes.lock().await;
        self.put_access(server_id, ViewAccess::default(), None);
        Ok(self.store().refusing().delete_setting(format!("{KEY}{server_id}")).await?)
    }

    /// A server was removed, and what was answered for it with it.
    pub(in crate::conversation) fn drop_view_access(&self, server_id: &str) {
        if self.view_access(server_id) != ViewAccess::default() {
            self.put_access(server_id, ViewAccess::default(), None);
            self.keep_writing(self.store().delete_setting(format!("{KEY}{server_id}")));
        }
    }

    fn put_access(&self, server_id: &str, access: ViewAccess, asked_by: Option<&str>) {
        let before = lock(&self.0.access.known).insert(server_id.to_owned(), access.clone());
        let before = before.unwrap_or_default();
        let taken: BTreeSet<Wish> = before
            .allowed
            .difference(&access.allowed)
            .chain(access.refused.difference(&before.refused))
            .cloned()
            .collect();
        self.end_views_with(server_id, &taken);
        let told: Vec<_> = {
            let views = lock(&self.0.views);
            let of_server =
                views.registry.all().filter(|it| it.server_id == server_id && !it.wishes.is_empty());
            of_server.map(|it| (it.view_id.clone(), wish_states(it, &access))).collect()
        };
        for (view_id, wishes) in told {
            let starts_again = asked_by == Some(view_id.as_str());
            self.tell(HostEvent::ViewAccess { view_id, wishes, starts_again });
        }
    }

    /// Ends the Views of a server that have something which is taken back, one with a relaxed policy on the bench too; and the
    /// connections there, whosever they are: which View opened one is not known, and others open theirs again.
    fn end_views_with(&self, server_id: &str, taken: &BTreeSet<Wish>) {
        if taken.is_empty() {
            return;
        }
        self.end_views(|view| {
            let has = access::wishes(&view.csp, view.permissions);
            let lost: Vec<String> = has.intersection(taken).map(access::in_words).collect();
            (view.server_id == server_id && !lost.is_empty()).then(|| taken_back(&lost))
        });
        lock(&self.0.views).end_tunnels_to(taken);
    }

    /// The Views of a server may not ask the model any more: those that were told that they may end.
    pub(in crate::conversation) fn end_views_that_ask_model(&self, server_id: &str) {
        self.end_views(|view| {
            let has_it = view.server_id == server_id && view.asks_model;
            has_it.then(|| taken_back(&["Asking the model".to_owned()]))
        });
    }

    /// Asks the user about what an open View wishes for and nobody answered. The View does not wait. For each server one question
    /// stands at a time.
    pub(super) fn ask_for_views(&self, server_id: &str, server_name: &str) {
        if lock(&self.0.views).asking.insert(server_id.to_owned()) {
            let asker = Asker { id: server_id.to_owned(), name: server_name.to_owned() };
            tokio::spawn(self.clone().ask_in_turn(asker));
        }
    }

    async fn ask_in_turn(self, asker: Asker) {
        while let Some((view_id, wishes, end)) = self.next_to_ask(&asker.id) {
            let asked = Asked::ViewAccess { wishes: wishes.iter().cloned().collect() };
            let answer = tokio::select! {
                answer = self.ask_person(&asker, asked) => answer,
                () = end.cancelled() => Elicited::Cancel,
            };
            let allowed = match answer {
                Elicited::Accept { .. } => true,
                Elicited::Decline => false,
                // Nothing is kept, and it is asked again when a View is opened again.
                Elicited::Cancel => continue,
            };
            if let Err(error) = self.answer_wishes(&asker.id, wishes, allowed, Some(&view_id)).await {
                let id = format!("view-access-{}", asker.id);
                self.notice(id, NoticeLevel::Error, (error.what, error.safe, error.todo));
            }
        }
    }

    fn next_to_ask(&self, server_id: &str) -> Option<(String, BTreeSet<Wish>, CancellationToken)> {
        let access = self.view_access(server_id);
        let mut views = lock(&self.0.views);
        let Views { registry, open, asking, .. } = &mut *views;
        let found = registry.all_mut().filter(|it| it.server_id == server_id && !it.asked).find_map(|view| {
            let wishes = open_wishes(view, &access);
            let end = open.get(&view.view_id)?.end.clone();
            view.asked = true;
            (!wishes.is_empty()).then(|| (view.view_id.clone(), wishes, end))
        });
        if found.is_none() {
            asking.remove(server_id);
        }
        found
    }
}

/// Why a View ended that had something which was taken back.
fn taken_back(lost: &[String]) -> String {
    let more = match lost.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = lost.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let (was, it) = if lost.len() == 1 { ("was", "it") } else { ("were", "them") };
    format!(
        "{named}{more} {was} taken back while this View had {it}, so the View was ended. It starts again without {it}."
    )
}

fn open_wishes(view: &LiveView, access: &ViewAccess) -> BTreeSet<Wish> {
    let states = wish_states(view, access).into_iter();
    states.filter(|it| it.1 == WishState::Open).map(|it| it.0).collect()
}

/// How each wish of an open View stands.
pub(super) fn wish_states(view: &LiveView, access: &ViewAccess) -> Vec<(Wish, WishState)> {
    let granted = access::wishes(&view.csp, view.permissions);
    let state = |wish: &Wish| match wish {
        _ if granted.contains(wish) => WishState::Granted,
        _ if access.allowed.contains(wish) => WishState::Allowed,
        _ if access.refused.contains(wish) => WishState::Refused,
        _ => WishState::Open,
    };
    view.wishes.iter().map(|it| (it.clone(), state(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app_view::access::WishKind;

    #[test]
    fn what_could_never_be_allowed_is_not_kept_as_an_answer() {
        let wish = |what: &str| Wish { kind: WishKind::Connect, what: what.to_owned() };
        let [good, local] = [wish("https://api.example.com"), wish("https://localhost")];
        let of = |wishes: [&Wish; 2]| wishes.into_iter().cloned().collect::<BTreeSet<_>>();
        let kept = ViewAccess { allowed: of([&good, &local]), refused: of([&good, &local]) };
        let read = read(&serde_json::to_string(&kept).unwrap()).unwrap();
        assert_eq!(read.allowed, BTreeSet::from([good.clone()]));
        assert_eq!(read.refused, BTreeSet::from([good]));
    }
}
