//! What the Views of a server may have, as the window reads it and says it.

use std::collections::BTreeSet;

use usher_host::{
    app_view::{
        access::{Wish, WishKind},
        csp::RejectedSource,
        egress::Refused,
    },
    conversation as host,
};

use super::types as view;

pub(super) fn wish(it: Wish) -> view::WishView {
    let kind = match it.kind {
        WishKind::Connect => view::WishKindName::Connect,
        WishKind::Resource => view::WishKindName::Resource,
        WishKind::Frame => view::WishKindName::Frame,
        WishKind::BaseUri => view::WishKindName::BaseUri,
        WishKind::Permission => view::WishKindName::Permission,
    };
    view::WishView { kind, what: it.what }
}

pub(super) fn wishes_of(all: Vec<view::WishView>) -> BTreeSet<Wish> {
    let of = |it: view::WishView| {
        let kind = match it.kind {
            view::WishKindName::Connect => WishKind::Connect,
            view::WishKindName::Resource => WishKind::Resource,
            view::WishKindName::Frame => WishKind::Frame,
            view::WishKindName::BaseUri => WishKind::BaseUri,
            view::WishKindName::Permission => WishKind::Permission,
        };
        Wish { kind, what: it.what }
    };
    all.into_iter().map(of).collect()
}

pub(super) fn states(all: Vec<(Wish, host::WishState)>) -> Vec<view::WishStateView> {
    let of = |(it, state): (Wish, host::WishState)| {
        let state = match state {
            host::WishState::Granted => view::WishStateName::Granted,
            host::WishState::Allowed => view::WishStateName::Allowed,
            host::WishState::Open => view::WishStateName::Open,
            host::WishState::Refused => view::WishStateName::Refused,
        };
        view::WishStateView { wish: wish(it), state }
    };
    all.into_iter().map(of).collect()
}

pub(super) fn rejected(all: Vec<RejectedSource>) -> Vec<view::RejectedView> {
    let of = |it: RejectedSource| view::RejectedView {
        list: it.list.to_owned(),
        entry: it.entry,
        why: it.why.to_string(),
    };
    all.into_iter().map(of).collect()
}

pub(super) fn answers(it: host::ViewAccess) -> view::ViewAnswers {
    view::ViewAnswers {
        allowed: it.allowed.into_iter().map(wish).collect(),
        refused: it.refused.into_iter().map(wish).collect(),
    }
}

pub(super) fn refused(all: Vec<Refused>) -> Vec<view::RefusedTarget> {
    let of = |it: Refused| view::RefusedTarget {
        host: it.target.host,
        port: it.target.port,
        why: it.why.to_string(),
        times: it.times,
    };
    all.into_iter().map(of).collect()
}
