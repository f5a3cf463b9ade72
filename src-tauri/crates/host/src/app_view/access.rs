//! What a View wishes for beyond its own page: domains and features, one by one, so that each can be allowed and taken back.
//!
//! Deliberately absent: who allows, and where that is kept. A wish is always one that may be allowed at all: [`csp::grant`] has judged
//! it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    csp::{self, GrantedCsp, Source},
    resource::Permissions,
};

/// One thing that a View wishes for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wish {
    /// What it is wanted for.
    pub kind: WishKind,
    /// The origin, as the policy spells it, or the name of the feature in MCP Apps.
    pub what: String,
}

/// What a domain is wanted for; or that it is a feature and no domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WishKind {
    /// `connectDomains`: to exchange data.
    Connect,
    /// `resourceDomains`: to load scripts, styles, pictures, fonts, sound and film.
    Resource,
    /// `frameDomains`: to show pages inside.
    Frame,
    /// `baseUriDomains`: to complete addresses with.
    BaseUri,
    /// `permissions`: a feature of this computer.
    Permission,
}

impl Wish {
    /// Whether it is spelled as a View's own would be, and could be allowed.
    pub fn is_proper(&self) -> bool {
        match self.kind {
            WishKind::Permission => csp::features(Permissions::ALL).any(|it| it.0 == self.what),
            WishKind::Connect | WishKind::Resource | WishKind::Frame | WishKind::BaseUri => {
                csp::source(&self.what, self.kind == WishKind::Connect)
                    .is_ok_and(|it| it.to_string() == self.what)
            }
        }
    }

    /// Whether who has it may have a connection to a host and port.
    pub fn reaches(&self, host: &str, port: u16) -> bool {
        match self.kind {
            WishKind::Connect | WishKind::Resource | WishKind::Frame => {
                csp::source(&self.what, self.kind == WishKind::Connect)
                    .is_ok_and(|it| it.covers_tunnel(host, port))
            }
            WishKind::BaseUri | WishKind::Permission => false,
        }
    }
}

/// What is wished for, in words for people.
pub fn in_words(wish: &Wish) -> String {
    match (wish.kind, wish.what.as_str()) {
        (WishKind::Permission, "camera") => "The camera".to_owned(),
        (WishKind::Permission, "microphone") => "The microphone".to_owned(),
        (WishKind::Permission, "geolocation") => "Where this computer is".to_owned(),
        (WishKind::Permission, "clipboardWrite") => "Writing to the clipboard".to_owned(),
        (
            WishKind::Permission
            | WishKind::Connect
            | WishKind::Resource
            | WishKind::Frame
            | WishKind::BaseUri,
            what,
        ) => what.to_owned(),
    }
}

/// All that a View wishes for.
pub fn wishes(csp: &GrantedCsp, permissions: Permissions) -> BTreeSet<Wish> {
    let of = |kind: WishKind, sources: &[Source]| {
        sources.iter().map(|it| Wish { kind, what: it.to_string() }).collect::<Vec<_>>()
    };
    let features = csp::features(permissions).filter(|it| it.2);
    let features = features.map(|it| Wish { kind: WishKind::Permission, what: it.0.to_owned() });
    [
        of(WishKind::Connect, &csp.connect),
        of(WishKind::Resource, &csp.resource),
        of(WishKind::Frame, &csp.frame),
        of(WishKind::BaseUri, &csp.base_uri),
    ]
    .into_iter()
    .flatten()
    .chain(features)
    .collect()
}

/// What of a View's wishes is among those that are allowed.
pub fn within(
    csp: &GrantedCsp,
    permissions: Permissions,
    allowed: &BTreeSet<Wish>,
) -> (GrantedCsp, Permissions) {
    let is_allowed = |kind: WishKind, what: &str| allowed.contains(&Wish { kind, what: what.to_owned() });
    let of = |kind: WishKind, sources: &[Source]| {
        sources.iter().filter(|it| is_allowed(kind, &it.to_string())).cloned().collect()
    };
    let granted = GrantedCsp {
        connect: of(WishKind::Connect, &csp.connect),
        resource: of(WishKind::Resource, &csp.resource),
        frame: of(WishKind::Frame, &csp.frame),
        base_uri: of(WishKind::BaseUri, &csp.base_uri),
    };
    let feature = |wanted: bool, name: &str| wanted && is_allowed(WishKind::Permission, name);
    let permissions = Permissions {
        camera: feature(permissions.camera, "camera"),
        microphone: feature(permissions.microphone, "microphone"),
        geolocation: feature(permissions.geolocation, "geolocation"),
        clipboard_write: feature(permissions.clipboard_write, "clipboardWrite"),
    };
    (granted, permissions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app_view::resource::DeclaredCsp;

    fn declared() -> (GrantedCsp, Permissions) {
        let declared = DeclaredCsp {
            connect: vec!["https://api.example.com".to_owned(), "http://ipc.localhost".to_owned()],
            resource: vec!["https://api.example.com".to_owned(), "*.cdn.example.com".to_owned()],
            frame: vec!["maps.example.com".to_owned()],
            base_uri: vec!["cdn.example.com".to_owned()],
        };
        let permissions = Permissions { camera: true, clipboard_write: true, ..Permissions::default() };
        (csp::grant(&declared).0, permissions)
    }

    #[test]
    fn wishes_are_what_may_be_allowed_and_each_is_for_one_thing() {
        let (csp, permissions) = declared();
        let all = wishes(&csp, permissions);
        let lines: Vec<String> = all.iter().map(|it| format!("{:?} {}", it.kind, it.what)).collect();
        expect_test::expect![[r#"
            Connect https://api.example.com
            Resource https://*.cdn.example.com
            Resource https://api.example.com
            Frame https://maps.example.com
            BaseUri https://cdn.example.com
            Permission camera
            Permission clipboardWrite"#]]
        .assert_eq(&lines.join("\n"));
        assert!(all.iter().all(Wish::is_proper));
        assert_eq!(within(&csp, permissions, &all), (csp.clone(), permissions));
        assert_eq!(
            within(&csp, permissions, &BTreeSet::new()),
            (GrantedCsp::default(), Permissions::default())
        );
        // To exchange data with a domain is not to run its code.
        let one = all.first().cloned().into_iter().collect();
        let (granted, features) = within(&csp, permissions, &one);
        assert_eq!((granted.connect.len(), granted.resource.len(), features), (1, 0, Permissions::default()));
    }

    #[test]
    fn what_no_view_could_wish_for_is_not_proper() {
        for (kind, what) in [
            (WishKind::Connect, "ipc:"),
            (WishKind::Connect, "https://localhost"),
            (WishKind::Connect, "api.example.com"),
            (WishKind::Connect, "https://API.example.com"),
            (WishKind::Resource, "wss://api.example.com"),
            (WishKind::Frame, "*"),
            (WishKind::Permission, "midi"),
            (WishKind::Permission, "https://api.example.com"),
        ] {
            assert!(!Wish { kind, what: what.to_owned() }.is_proper(), "{what}");
        }
    }

    #[test]
    fn what_was_allowed_and_is_not_wished_for_any_more_is_not_granted() {
        let (csp, permissions) = declared();
        let all = wishes(&csp, permissions);
        let granted = within(&GrantedCsp::default(), Permissions::default(), &all);
        assert_eq!(granted, (GrantedCsp::default(), Permissions::default()));
    }
}
