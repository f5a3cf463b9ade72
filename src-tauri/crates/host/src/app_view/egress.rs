//! What of the web view's network passes the proxy: the head of a request is read, and compared with what live Views were granted.
//!
//! Only tunnels pass (`CONNECT`, RFC 9110 section 9.3.6), for every granted origin is encrypted; what is inside is between the View and
//! the other end. Whatever is not exactly such a head is refused. Deliberately absent: sockets and names' addresses.

use std::collections::{BTreeSet, VecDeque};

use super::csp::{self, GrantedCsp};

/// The longest head of a request that is read, in bytes.
pub const MAX_HEAD: usize = 8 << 10;

/// How many refused addresses are remembered.
const MOST_REFUSED: usize = 64;

/// Where a request wants to go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// A domain in lower case, or an IPv4 address.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Why a request does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPassage {
    /// No head of a request for a tunnel.
    #[error("it is no request that may pass")]
    Head,
    /// It asks for something without encryption.
    #[error("only encrypted connections pass")]
    Plain,
    /// It names this machine or its network, or leads there.
    #[error("it leads to this machine or its network")]
    Local,
    /// No live View was granted it.
    #[error("no open View was granted it")]
    NotGranted,
    /// The Views that were granted it have as many connections as they may.
    #[error("Views of its server have as many connections as they may")]
    Busy,
    /// Its name leads nowhere.
    #[error("its name has no address")]
    NoAddress,
    /// Nothing answers there.
    #[error("nothing answers there")]
    Unreachable,
}

/// What the bytes that came so far are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// The head is not whole yet.
    Partial,
    /// A request for a tunnel.
    Tunnel(Target),
    /// Anything else; and where it wanted to go, if it says so.
    Refused(NoPassage, Option<Target>),
}

/// Reads the head of a request.
pub fn read(bytes: &[u8]) -> Head {
    let refused = Head::Refused(NoPassage::Head, None);
    let is_text = |it: &u8| matches!(it, b' '..=b'~' | b'\r' | b'\n' | b'\t');
    if bytes.len() > MAX_HEAD || !bytes.iter().all(is_text) {
        return refused;
    }
    let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else { return Head::Partial };
    // Nobody may speak before the tunnel stands: what follows could be taken for a request by one reader and for its body by another.
    let Ok(text) = str::from_utf8(&bytes[..end]) else { return refused };
    if end + 4 != bytes.len() {
        return refused;
    }
    let mut lines = text.split("\r\n");
    let request: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = request[..] else { return refused };
    if !lines.all(is_harmless) {
        return refused;
    }
    if method != "CONNECT" {
        let target = target.strip_prefix("http://").map(|it| it.split(['/', '?']).next().unwrap_or_default());
        let with_port = |it: &str| if it.contains(':') { it.to_owned() } else { format!("{it}:80") };
        let target = target.and_then(|it| read_target(&with_port(it)).ok());
        return Head::Refused(NoPassage::Plain, target);
    }
    match read_target(target) {
        Ok(target) => Head::Tunnel(target),
        Err((why, target)) => Head::Refused(why, target),
    }
}

/// Whether a line of the head is a field that says nothing about a body.
fn is_harmless(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else { return false };
    let is_name =
        !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    let speaks_of_a_body = name.eq_ignore_ascii_case("transfer-encoding")
        || name.eq_ignore_ascii_case("content-length") && value.trim() != "0"
        || name.eq_ignore_ascii_case("upgrade");
    is_name && !speaks_of_a_body && !value.contains(['\r', '\n'])
}

fn read_target(text: &str) -> Result<Target, (NoPassage, Option<Target>)> {
    let (host, port) = text.rsplit_once(':').ok_or((NoPassage::Head, None))?;
    let port = csp::parse_port(port).map_err(|_| (NoPassage::Head, None))?;
    let target = Target { host: host.to_ascii_lowercase(), port };
    match csp::check_host(&target.host, false) {
        Ok(()) => Ok(target),
        Err(csp::NotGranted::Local) => Err((NoPassage::Local, Some(target))),
        Err(_) => Err((NoPassage::Head, None)),
    }
}

/// Whether one of some live Views was granted a target.
pub fn admits<'a>(mut granted: impl Iterator<Item = &'a GrantedCsp>, target: &Target) -> bool {
    granted.any(|it| it.reaches(&target.host, target.port))
}

/// How many connections the Views of one server may have, so that those of another find room.
pub const MOST_OF_A_SERVER: usize = 32;

/// How many connections all Views may have. A process may have some thousand files, and each connection is two.
pub const MOST_TUNNELS: usize = 256;

/// The server whose share a connection is counted in: of those whose Views were granted the target the one that has the fewest. Which
/// View asked is not known, so a server may count some of another that was granted the same domain.
///
/// # Errors
/// Nobody was granted the target, or there is no room.
pub fn share<'a>(
    granted: &BTreeSet<&'a str>,
    open: impl Fn(&str) -> usize,
    all: usize,
) -> Result<&'a str, NoPassage> {
    let fewest = granted.iter().map(|it| (open(it), *it)).min().ok_or(NoPassage::NotGranted)?;
    if fewest.0 >= MOST_OF_A_SERVER || all >= MOST_TUNNELS {
        return Err(NoPassage::Busy);
    }
    Ok(fewest.1)
}

/// What did not pass, and why. It cannot be said which View it was: the web view has one way out for all.
#[derive(Debug, Default)]
pub struct Refusals(VecDeque<Refused>);

/// Requests to one target that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Where they wanted to go.
    pub target: Target,
    /// Why the last of them did not pass.
    pub why: NoPassage,
    /// How many there were.
    pub times: u32,
}

impl Refusals {
    /// Counts a request. The target that was asked for longest ago is forgotten when there are too many.
    pub fn note(&mut self, target: Target, why: NoPassage) {
        let at = self.0.iter().position(|it| it.target == target);
        let times = at.and_then(|it| self.0.remove(it)).map_or(0, |it| it.times);
        self.0.push_back(Refused { target, why, times: times.saturating_add(1) });
        if self.0.len() > MOST_REFUSED {
            self.0.pop_front();
        }
    }

    /// All of them; the last that was asked for is the last.
    pub fn all(&self) -> Vec<Refused> {
        self.0.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::app_view::resource::DeclaredCsp;

    fn said(head: &str) -> String {
        match read(head.as_bytes()) {
            Head::Partial => "partial".to_owned(),
            Head::Tunnel(it) => format!("{} {}", it.host, it.port),
            Head::Refused(why, target) => {
                format!("{why:?} {}", target.map(|it| format!("{}:{}", it.host, it.port)).unwrap_or_default())
                    .trim_end()
                    .to_owned()
            }
        }
    }

    #[test]
    fn a_head_asks_for_a_tunnel_or_is_refused() {
        let heads = [
            "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\nUser-Agent: Mozilla/5.0 (X11)\r\nProxy-Connection: Keep-Alive\r\n\r\n",
            "CONNECT API.Example.com:8443 HTTP/1.0\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\r\nHost: other.example.com\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n",
            "CONNECT",
            "",
            // Other requests.
            "GET http://api.example.com/x?y HTTP/1.1\r\n\r\n",
            "GET http://127.0.0.1:8080/x HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            "POST https://api.example.com/ HTTP/1.1\r\n\r\n",
            "connect api.example.com:443 HTTP/1.1\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
            // This machine, and what is no name.
            "CONNECT localhost:443 HTTP/1.1\r\n\r\n",
            "CONNECT ipc.localhost:443 HTTP/1.1\r\n\r\n",
            "CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n",
            "CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n",
            "CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
            "CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com.:443 HTTP/1.1\r\n\r\n",
            "CONNECT user@api.example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com/x:443 HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com:0 HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com:65536 HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com:+443 HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            // Two requests that look like one.
            "CONNECT api.example.com:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\r\n\r\n\x16",
            "CONNECT api.example.com:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\r\ntransfer-encoding : chunked\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\nHost: x\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1\r\n folded\r\n\r\n",
            "CONNECT  api.example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com:443 HTTP/1.1 x\r\n\r\n",
            "CONNECT api.example.com:443\tHTTP/1.1\r\n\r\n",
            "CONNECT api.example.com:443 evil:443 HTTP/1.1\r\n\r\n",
            "\r\nCONNECT api.example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT b\u{fc}cher.example:443 HTTP/1.1\r\n\r\n",
            "CONNECT api.example.com\0.evil:443 HTTP/1.1\r\n\r\n",
        ];
        let lines: Vec<String> = heads.iter().map(|it| said(it)).collect();
        expect![[r#"
            api.example.com 443
            api.example.com 8443
            api.example.com 443
            partial
            partial
            partial
            Plain api.example.com:80
            Plain
            Plain
            Plain
            Plain
            Head
            Local localhost:443
            Local ipc.localhost:443
            Local 127.0.0.1:443
            Local 169.254.169.254:80
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head
            Head"#]]
        .assert_eq(&lines.join("\n"));
        let long = format!("CONNECT api.example.com:443 HTTP/1.1\r\nX: {}", "x".repeat(MAX_HEAD));
        assert_eq!(read(long.as_bytes()), Head::Refused(NoPassage::Head, None));
    }

    #[test]
    fn a_target_passes_that_a_live_view_was_granted() {
        let granted = |connect: &[&str], resource: &[&str], frame: &[&str], base_uri: &[&str]| {
            let all = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
            let (connect, resource) = (all(connect), all(resource));
            let declared = DeclaredCsp { connect, resource, frame: all(frame), base_uri: all(base_uri) };
            csp::grant(&declared).0
        };
        let views = [
            granted(&["https://api.example.com", "wss://live.example.com:8443"], &[], &[], &[]),
            granted(&[], &["*.cdn.example.com"], &["maps.example.com"], &["base.example.com"]),
        ];
        let passes = |host: &str, port: u16| admits(views.iter(), &Target { host: host.to_owned(), port });
        assert!(passes("api.example.com", 443) && passes("live.example.com", 8443));
        assert!(passes("a.cdn.example.com", 443) && passes("maps.example.com", 443));
        for (host, port) in [
            ("api.example.com", 80),
            ("api.example.com", 22),
            ("api.example.com", 8443),
            ("live.example.com", 443),
            ("cdn.example.com", 443),
            ("base.example.com", 443),
            ("example.com", 443),
            ("api.example.com.evil.net", 443),
        ] {
            assert!(!passes(host, port), "{host}:{port}");
        }
        assert!(!admits(std::iter::empty(), &Target { host: "api.example.com".to_owned(), port: 443 }));
    }

    #[test]
    fn each_server_has_a_share_of_the_way_out() {
        let (one, both) = (BTreeSet::from(["greedy"]), BTreeSet::from(["greedy", "small"]));
        let open = |server: &str| if server == "greedy" { MOST_OF_A_SERVER } else { 3 };
        let all = MOST_OF_A_SERVER + 3;
        assert_eq!(share(&one, open, all), Err(NoPassage::Busy));
        assert_eq!(share(&BTreeSet::from(["small"]), open, all), Ok("small"));
        assert_eq!(share(&both, open, all), Ok("small"));
        assert_eq!(share(&both, open, MOST_TUNNELS), Err(NoPassage::Busy));
        assert_eq!(share(&BTreeSet::new(), open, all), Err(NoPassage::NotGranted));
    }

    #[test]
    fn what_did_not_pass_is_counted_and_bounded() {
        let mut all = Refusals::default();
        let target = |n: usize| Target { host: format!("h{n}.example"), port: 443 };
        for n in 0..100 {
            all.note(target(n), NoPassage::NotGranted);
        }
        all.note(target(99), NoPassage::Local);
        all.note(target(50), NoPassage::NotGranted);
        let all = all.all();
        assert_eq!(all.len(), MOST_REFUSED);
        assert_eq!(all.last(), Some(&Refused { target: target(50), why: NoPassage::NotGranted, times: 2 }));
        assert_eq!(all[62], Refused { target: target(99), why: NoPassage::Local, times: 2 });
        assert_eq!(all[0].target, target(36));
    }
}
