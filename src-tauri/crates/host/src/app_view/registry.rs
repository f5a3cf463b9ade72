//! The Views that are live, and what the custom scheme serves for them.
//!
//! Deliberately absent: randomness. The label of a View's host is passed in, fresh for each View, so that one View can neither guess
//! another's address nor share its storage.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::proxy;

/// What follows the label in a View's host on Windows.
const WINDOWS_ENDING: &str = ".view.localhost";

/// The label in a View's host: `<label>.localhost`, and on Windows `mcpview.<label>.view.localhost`, which reaches the handler of the
/// scheme without its first label.
pub fn label_of(host: &str) -> Option<&str> {
    match host.strip_suffix(WINDOWS_ENDING) {
        Some(name) => Some(name.strip_prefix("mcpview.").unwrap_or(name)),
        None => host.strip_suffix(".localhost"),
    }
}

/// The label of a View's host: 128 random bits, so that the address is a secret of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostLabel(u128);

impl HostLabel {
    /// A label of random bits.
    pub fn new(random: u128) -> Self {
        Self(random)
    }

    /// The View's origin, to compare messages with. Windows spells a custom scheme as the first label of a host. There the ending is the
    /// Views' own, so that the page's policy can name them all and not the window's own `http://tauri.localhost`.
    pub fn origin(self, windows: bool) -> String {
        if windows {
            format!("http://mcpview.{self}{WINDOWS_ENDING}")
        } else {
            format!("mcpview://{self}.localhost")
        }
    }

    /// The address of the frame.
    pub fn url(self, windows: bool) -> String {
        format!("{}{}", self.origin(windows), proxy::PATH)
    }

    /// Reads a host as the custom scheme's handler is given it: `<label>.localhost`, or as Windows spells it, with or without the scheme.
    fn of_host(host: &str) -> Option<Self> {
        Self::parse(label_of(host)?)
    }

    fn parse(text: &str) -> Option<Self> {
        let is_hex =
            text.len() == 32 && text.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it));
        is_hex.then(|| u128::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for HostLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A View that is live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveView {
    /// Names it towards the window.
    pub view_id: String,
    /// The server that it belongs to, the only one that it reaches.
    pub server_id: String,
    /// The conversation in which it is shown.
    pub conversation_id: String,
    /// The call that it shows.
    pub call_id: String,
    /// Its document.
    pub html: Arc<str>,
    /// The domains that it was granted. It ends when one is taken back.
    pub csp: super::csp::GrantedCsp,
    /// The features that it was granted. It ends when one is taken back.
    pub permissions: super::resource::Permissions,
    /// Whether it was told that it may ask the model. It ends when that is taken back.
    pub asks_model: bool,
    /// The policy that it is served with.
    pub mode: super::csp::Mode,
    /// All that it wishes for and that may be allowed.
    pub wishes: std::collections::BTreeSet<super::access::Wish>,
    /// Whether the user was asked for it since it was opened.
    pub asked: bool,
    /// Its rates.
    pub limiter: super::rate::Limiter,
}

/// What a request to the custom scheme is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Arc<str>,
}

/// The live Views.
#[derive(Debug, Default)]
pub struct Registry {
    views: BTreeMap<HostLabel, LiveView>,
}

/// The label or the View's id is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a live View already has this name")]
pub struct NameTaken;

impl Registry {
    /// Adds a View.
    ///
    /// # Errors
    /// The label or the View's id is in use.
    pub fn open(&mut self, label: HostLabel, view: LiveView) -> Result<(), NameTaken> {
        if self.views.contains_key(&label) || self.get(&view.view_id).is_some() {
            return Err(NameTaken);
        }
        self.views.insert(label, view);
        Ok(())
    }

    /// A View by its id.
    pub fn get(&self, view_id: &str) -> Option<&LiveView> {
        self.views.values().find(|it| it.view_id == view_id)
    }

    /// The View that a host names, as [`label_of`] reads it.
    pub fn at(&self, host: &str) -> Option<&LiveView> {
        HostLabel::of_host(host).and_then(|label| self.views.get(&label))
    }

    /// A View by its id, to count what it asks.
    pub fn get_mut(&mut self, view_id: &str) -> Option<&mut LiveView> {
        self.views.values_mut().find(|it| it.view_id == view_id)
    }

    /// The live Views, to note what became of them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut LiveView> {
        self.views.values_mut()
    }

    /// The live Views, in no meaningful order.
    pub fn all(&self) -> impl Iterator<Item = &LiveView> {
        self.views.values()
    }

    /// Ends a View: its address answers nothing from now on.
    pub fn close(&mut self, view_id: &str) -> Option<LiveView> {
        let label = *self.views.iter().find(|it| it.1.view_id == view_id)?.0;
        self.views.remove(&label)
    }

    /// Answers a request to the custom scheme: the document of exactly the View that the host names, the page around it, and nothing
    /// else. `host` is as [`label_of`] reads it.
    pub fn serve(&self, method: &str, host: &str, path: &str) -> Served {
        match self.at(host) {
            Some(_) if method != "GET" => refusal(405),
            Some(view) if path == "/" => {
                let headers = view.csp.response_headers(view.mode, view.permissions);
                Served { status: 200, headers, body: Arc::clone(&view.html) }
            }
            Some(view) if path == proxy::PATH => {
                Served { status: 200, headers: proxy::headers(view.permissions), body: proxy::PAGE.into() }
            }
            Some(_) | None => refusal(404),
        }
    }
}

fn refusal(status: u16) -> Served {
    let headers = vec![
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("Content-Security-Policy", "default-src 'none'; sandbox".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
        ("Cache-Control", "no-store".to_owned()),
    ];
    Served { status, headers, body: "".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(id: &str, server: &str) -> LiveView {
        LiveView {
            view_id: id.to_owned(),
            server_id: server.to_owned(),
            conversation_id: "k".to_owned(),
            call_id: "c".to_owned(),
            html: format!("<p>{id}</p>").into(),
            csp: crate::app_view::csp::GrantedCsp::default(),
            permissions: crate::app_view::resource::Permissions::default(),
            asks_model: false,
            mode: crate::app_view::csp::Mode::Strict,
            wishes: std::collections::BTreeSet::new(),
            asked: false,
            limiter: crate::app_view::rate::Limiter::default(),
        }
    }

    #[test]
    fn a_view_is_served_at_its_own_host_only() {
        let mut registry = Registry::default();
        let (one, two) = (HostLabel::new(1), HostLabel::new(u128::MAX));
        assert_eq!(registry.open(one, view("v1", "s")), Ok(()));
        assert_eq!(registry.open(two, view("v2", "s")), Ok(()));
        assert_eq!(registry.open(one, view("v3", "s")), Err(NameTaken));
        assert_eq!(registry.open(HostLabel::new(3), view("v1", "s")), Err(NameTaken));
        for origin in [one.origin(false), one.origin(true)] {
            let host = origin.split_once("://").map(|it| it.1).unwrap_or_default();
            assert_eq!(registry.serve("GET", host, "/").status, 200, "{origin}");
        }
        let status = |host: &str, path: &str| registry.serve("GET", host, path).status;
        assert_eq!(&*registry.serve("GET", &format!("{one}.localhost"), "/").body, "<p>v1</p>");
        assert_eq!(&*registry.serve("GET", &format!("mcpview.{two}.view.localhost"), "/").body, "<p>v2</p>");
        assert_eq!(&*registry.serve("GET", &format!("{two}.localhost"), proxy::PATH).body, proxy::PAGE);
        for (host, path) in [
            (format!("{one}.localhost"), "/other"),
            (format!("{one}.localhost"), "//"),
            (format!("{one}"), "/"),
            (format!("x.{one}.localhost"), "/"),
            (format!("mcpview.{one}.localhost"), "/"),
            (format!("{one}.view.view.localhost"), "/"),
            (format!("{one}.localhost.evil.example"), "/"),
            ("1.localhost".to_owned(), "/"),
            ("+0000000000000000000000000000001.localhost".to_owned(), "/"),
            ("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF.localhost".to_owned(), "/"),
            (".localhost".to_owned(), "/"),
            (String::new(), "/"),
        ] {
            assert_eq!(status(&host, path), 404, "{host}{path}");
        }
        assert_eq!(registry.serve("POST", &format!("{one}.localhost"), "/").status, 405);
    }

    #[test]
    fn a_closed_view_is_gone() {
        let mut registry = Registry::default();
        let label = HostLabel::new(7);
        registry.open(label, view("v1", "a")).unwrap();
        registry.open(HostLabel::new(8), view("v2", "b")).unwrap();
        assert!(registry.close("v1").is_some());
        assert!(registry.close("v1").is_none());
        assert_eq!(registry.serve("GET", &format!("{label}.localhost"), "/").status, 404);
        assert_eq!(registry.all().map(|it| it.view_id.as_str()).collect::<Vec<_>>(), ["v2"]);
        assert_eq!(registry.open(label, view("v1", "a")), Ok(()));
    }
}
