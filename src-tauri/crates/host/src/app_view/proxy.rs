//! The page around a View. It has the View's own origin, holds the View's document in a frame, and carries messages both ways.
//!
//! It is the sandbox proxy of MCP Apps (2026-01-26, "Sandbox"), without its two notifications: the scheme gives the document, so nobody
//! has to send it. A View finds a parent of its own origin as it does in the reference host; official examples read from it. No boundary
//! runs between the two: a View can rewrite the page, so the page's policy grants it nothing that the View's does not, and its messages
//! are the View's. Deliberately absent: any decision.

use super::{
    csp::{FRAME_ANCESTORS, NO_WEBRTC, common_headers},
    resource::Permissions,
};

/// Its path. The View's own is `/`.
pub const PATH: &str = "/proxy";

/// The page.
pub const PAGE: &str = include_str!("../../../../../assets/view/proxy.html");

/// The headers of the page. Its frame may hold documents of the View's origin only, so that the window's words reach no other, also
/// when the View goes to a domain that it may show.
pub fn headers(permissions: Permissions) -> Vec<(&'static str, String)> {
    let policy = [
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        NO_WEBRTC,
    ];
    let policy = format!("{}; frame-ancestors {FRAME_ANCESTORS}", policy.join("; "));
    common_headers(policy, permissions)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::app_view::csp::{GrantedCsp, Mode};

    #[test]
    fn the_page_may_nothing_that_its_view_may_not() {
        let policy = |headers: Vec<(&'static str, String)>| headers.into_iter().next().unwrap_or_default().1;
        let own = policy(headers(Permissions::default()));
        expect!["default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action 'none'; webrtc 'block'; frame-ancestors tauri: http://tauri.localhost https://tauri.localhost"].assert_eq(&own);
        let view = policy(GrantedCsp::default().response_headers(Mode::Strict, Permissions::default()));
        let sources = |policy: &str, of: &str| {
            let list = policy.split("; ").find_map(|it| it.strip_prefix(of).map(str::to_owned));
            list.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        for directive in ["default-src", "script-src", "style-src", "form-action"] {
            let allowed = sources(&view, directive);
            let more: Vec<_> =
                sources(&own, directive).into_iter().filter(|it| !allowed.contains(it)).collect();
            assert_eq!(more, [""; 0], "{directive}");
        }
    }
}
