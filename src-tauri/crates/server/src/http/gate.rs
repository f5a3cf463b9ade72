//! Who may speak to a server on a person's machine: programs, and pages of that machine. A page elsewhere that had its name point here
//! (DNS rebinding) sends a `Host` or an `Origin` that is not ours.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;

use super::mirror::header;

/// The names that a request may be for and from.
#[derive(Debug)]
pub(super) struct Gate(Vec<String>);

impl Gate {
    pub(super) fn new(bound: SocketAddr, hosts: &[String]) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        if !bound.ip().is_unspecified() {
            names.push(match bound.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        names.extend(hosts.iter().map(|it| it.to_ascii_lowercase()));
        Self(names)
    }

    /// Checks `Host`, which every request has, and `Origin`, which those of pages have.
    ///
    /// # Errors
    /// Which of them is foreign.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), String> {
        let host = header(headers, "host").ok_or("a request names its Host")?;
        if !self.knows(&host) {
            return Err(format!("Host {host:?} is not this server"));
        }
        match header(headers, "origin") {
            None if headers.contains_key("origin") => Err("Origin cannot be read".to_owned()),
            None => Ok(()),
            Some(origin) => {
                let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
                match place.filter(|it| self.knows(it)) {
                    Some(_) => Ok(()),
                    None => Err(format!("Origin {origin:?} may not speak to this server")),
                }
            }
        }
    }

    /// Whether `host[:port]` has one of the names.
    fn knows(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        self.0.iter().any(|name| {
            authority.strip_prefix(name.as_str()).is_some_and(|rest| {
                let port = rest.strip_prefix(':');
                rest.is_empty()
                    || port.is_some_and(|it| it.len() <= 5 && it.bytes().all(|it| it.is_ascii_digit()))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_let_in(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("host", host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert("origin", origin.parse().unwrap());
        }
        Gate::new(([127, 0, 0, 1], 80).into(), &["mcp.example".to_owned()]).check(&headers).is_ok()
    }

    #[test]
    fn pages_of_other_places_stay_outside() {
        for (host, origin) in [
            ("127.0.0.1:4000", None),
            ("localhost", Some("http://localhost:5173")),
            ("[::1]:80", Some("https://127.0.0.1")),
            ("MCP.example:443", Some("https://mcp.example")),
        ] {
            assert!(is_let_in(host, origin), "{host} {origin:?}");
        }
        for (host, origin) in [
            ("evil.example", None),
            ("localhost.evil.example", None),
            ("127.0.0.1.evil.example:80", None),
            ("localhost:80@evil.example", None),
            ("evil.example:127.0.0.1", None),
            ("localhost", Some("http://evil.example")),
            ("localhost", Some("http://localhost.evil.example")),
            ("localhost", Some("http://localhost@evil.example")),
            ("localhost", Some("null")),
            ("localhost", Some("file://localhost")),
            ("localhost", Some("")),
            ("", None),
        ] {
            assert!(!is_let_in(host, origin), "{host} {origin:?}");
        }
        assert!(Gate::new(([127, 0, 0, 1], 80).into(), &[]).check(&HeaderMap::new()).is_err());
    }
}
