//! The policy that a View is served with: which declared domains are granted, and the response's headers.
//!
//! An entry is granted as a whole or rejected as a whole with a reason; none is repaired, since a repaired entry is one that nobody wrote
//! (MCP Apps 2026-01-26, "Security"). Deliberately absent: addresses of this machine and its network, however they are declared; with
//! them a server could name the window's own message channel as a domain.

#[cfg(test)]
mod tests;

use std::{fmt, net::Ipv4Addr};

use serde_json::{Map, Value, json};

use super::{
    address,
    resource::{DeclaredCsp, Permissions},
};

/// The frame's `sandbox` tokens. The origin is the View's own, so that `allow-same-origin` gives it storage and nothing else.
pub const SANDBOX: &str = "allow-scripts allow-same-origin allow-forms";

/// The origins of the window.
pub(super) const FRAME_ANCESTORS: &str = "tauri: http://tauri.localhost https://tauri.localhost";

/// No connections between browsers (CSP 3, section 6.1.16), which pass no proxy. An engine that does not know it reads over it.
pub(super) const NO_WEBRTC: &str = "webrtc 'block'";

/// How many entries of one list are granted.
const MAX_ENTRIES: usize = 64;

/// One granted origin or family of origins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    scheme: &'static str,
    /// Whether every subdomain is meant, and the domain itself is not.
    subdomains: bool,
    host: String,
    port: Option<u16>,
}

impl Source {
    /// Whether an address is covered. Its scheme is `https` or `wss`, its host in lower case, its port the one in effect.
    pub fn covers(&self, scheme: &str, host: &str, port: u16) -> bool {
        let host_fits = if self.subdomains {
            host.strip_suffix(&self.host).is_some_and(|it| it.len() > 1 && it.ends_with('.'))
        } else {
            host == self.host
        };
        scheme == self.scheme && host_fits && port == self.port.unwrap_or(443)
    }

    /// Whether an encrypted connection to a host and port is covered, whatever is spoken inside.
    pub(super) fn covers_tunnel(&self, host: &str, port: u16) -> bool {
        self.covers(self.scheme, host, port)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, if self.subdomains { "*." } else { "" }, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The domains that a View may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantedCsp {
    /// For `connect-src`.
    pub connect: Vec<Source>,
    /// For scripts, styles, images, fonts and media.
    pub resource: Vec<Source>,
    /// For `frame-src`.
    pub frame: Vec<Source>,
    /// For `base-uri`.
    pub base_uri: Vec<Source>,
}

/// How strict the policy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As every View of a conversation is served.
    Strict,
    /// As the reference host serves them, for somebody who looks for the reason why a View does not work: workers from its domains too, and
    /// connections to its own origin. The grammar of domains is the same.
    Relaxed,
}

/// A declared domain that was not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedSource {
    /// The list that it stands in, such as `connectDomains`.
    pub list: &'static str,
    /// It, as the server wrote it.
    pub entry: String,
    /// Why it is not granted.
    pub why: NotGranted,
}

/// Why a domain is not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    /// It has characters that no domain has, which could end the policy's directive.
    #[error("it has characters that a domain cannot have")]
    Characters,
    /// A scheme other than `https`, or `wss` where connections are meant.
    #[error("only https addresses (and wss for connections) are granted")]
    Scheme,
    /// `*`, `*.com`, `a.*.com` or any other wildcard that is not a leading label of a full domain.
    #[error("a wildcard is granted only as the first label of a full domain, as in *.example.com")]
    Wildcard,
    /// The text after the scheme is not a domain.
    #[error("it is not a domain name")]
    Host,
    /// It has a path, a query or a user.
    #[error("only an origin is granted, without a path")]
    Path,
    /// The port is not a number from 1 to 65535.
    #[error("its port is not one")]
    Port,
    /// It names this machine or its network.
    #[error("addresses of this machine and its network are never granted")]
    Local,
    /// The list is longer than Usher grants.
    #[error("the list has more than 64 entries")]
    TooMany,
}

/// What may be granted of the declared domains, if somebody allows it.
pub fn grant(declared: &DeclaredCsp) -> (GrantedCsp, Vec<RejectedSource>) {
    let mut rejected = Vec::new();
    let mut list = |name: &'static str, entries: &[String], connections: bool| {
        let mut granted: Vec<Source> = Vec::new();
        let before = rejected.len();
        for entry in entries {
            let checked = if granted.len() >= MAX_ENTRIES {
                Err(NotGranted::TooMany)
            } else {
                source(entry, connections)
            };
            match checked {
                Ok(source) if granted.contains(&source) => {}
                Ok(source) => granted.push(source),
                // As many are told as could be granted; a longer list is not read by anybody.
                Err(why) if rejected.len() - before < MAX_ENTRIES => {
                    let cut = entry.floor_char_boundary(300);
                    rejected.push(RejectedSource { list: name, entry: entry[..cut].to_owned(), why });
                }
                Err(_) => break,
            }
        }
        granted
    };
    let granted = GrantedCsp {
        connect: list("connectDomains", &declared.connect, true),
        resource: list("resourceDomains", &declared.resource, false),
        frame: list("frameDomains", &declared.frame, false),
        base_uri: list("baseUriDomains", &declared.base_uri, false),
    };
    (granted, rejected)
}

/// Reads one entry: `[https://|wss://][*.]domain[:port][/]`. A bare domain means `https`.
pub(super) fn source(entry: &str, connections: bool) -> Result<Source, NotGranted> {
    let permitted =
        |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '.' | ':' | '/' | '*' | '_' | '[' | ']');
    if entry.is_empty() || entry.len() > 300 || !entry.chars().all(permitted) {
        return Err(NotGranted::Characters);
    }
    let lower = entry.to_ascii_lowercase();
    let (scheme, rest) = match lower.split_once("://") {
        Some(("https", rest)) => ("https", rest),
        Some(("wss", rest)) if connections => ("wss", rest),
        Some(_) => return Err(NotGranted::Scheme),
        None => ("https", lower.as_str()),
    };
    // The schemes of the window itself, in the spellings that a policy would take for one.
    let is_bare_scheme = rest.ends_with(':');
    if is_bare_scheme {
        return Err(NotGranted::Scheme);
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains('/') {
        return Err(NotGranted::Path);
    }
    if rest.contains(['[', ']']) {
        // A policy has no way to write an IPv6 address.
        return Err(NotGranted::Host);
    }
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, Some(parse_port(port)?)),
        None => (rest, None),
    };
    let (subdomains, host) = match host.strip_prefix("*.") {
        Some(host) => (true, host),
        None => (false, host),
    };
    if host.contains('*') {
        return Err(NotGranted::Wildcard);
    }
    check_host(host, subdomains)?;
    Ok(Source { scheme, subdomains, host: host.to_owned(), port })
}

pub(super) fn parse_port(port: &str) -> Result<u16, NotGranted> {
    if port.is_empty() || !port.bytes().all(|it| it.is_ascii_digit()) {
        return Err(NotGranted::Port);
    }
    port.parse().ok().filter(|it| *it != 0).ok_or(NotGranted::Port)
}

pub(super) fn check_host(host: &str, subdomains: bool) -> Result<(), NotGranted> {
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |it: &&str| {
        (1..=63).contains(&it.len())
            && !it.starts_with('-')
            && !it.ends_with('-')
            && it.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if host.len() > 253 || !labels.iter().all(is_label) {
        return Err(NotGranted::Host);
    }
    let last = labels.last().copied().unwrap_or_default();
    // Names without a dot and these endings never leave the machine or its network.
    if labels.len() == 1 && !subdomains || LOCAL_ENDINGS.contains(&last) || host.ends_with(".home.arpa") {
        return Err(NotGranted::Local);
    }
    if labels.len() == 1 {
        return Err(NotGranted::Wildcard);
    }
    // A browser reads a name whose last label starts with a digit as an IPv4 address, also `0x7f.1` and `127.1`.
    if last.starts_with(|it: char| it.is_ascii_digit()) {
        let address: Ipv4Addr = host.parse().map_err(|_| NotGranted::Host)?;
        if subdomains {
            return Err(NotGranted::Wildcard);
        }
        if !address::is_public(address.into()) {
            return Err(NotGranted::Local);
        }
    }
    Ok(())
}

const LOCAL_ENDINGS: [&str; 8] =
    ["localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp"];

impl GrantedCsp {
    /// The value of `Content-Security-Policy`.
    ///
    /// Wider than the specification's formula in `'unsafe-eval'`, `blob:` and `data:`, as the reference host is: official Views need
    /// them, and they name no domain. Narrower in `connect-src`, which has no `'self'`: there is nothing to connect to.
    pub fn header(&self, mode: Mode) -> String {
        let resource = join(&self.resource);
        let (worker, connect) = match mode {
            Mode::Strict => (String::new(), or_none(&self.connect)),
            Mode::Relaxed => (resource.clone(), format!(" 'self'{}", join(&self.connect))),
        };
        let code = "'self' 'unsafe-inline'";
        let base = if self.base_uri.is_empty() { " 'self'".to_owned() } else { join(&self.base_uri) };
        let frame = or_none(&self.frame);
        [
            "default-src 'none'".to_owned(),
            format!("script-src {code} 'unsafe-eval' blob: data:{resource}"),
            format!("style-src {code} blob: data:{resource}"),
            format!("img-src 'self' blob: data:{resource}"),
            format!("font-src 'self' blob: data:{resource}"),
            format!("media-src 'self' blob: data:{resource}"),
            format!("connect-src{connect}"),
            format!("worker-src 'self' blob:{worker}"),
            format!("frame-src{frame}"),
            format!("child-src{frame}"),
            "object-src 'none'".to_owned(),
            format!("base-uri{base}"),
            "form-action 'none'".to_owned(),
            NO_WEBRTC.to_owned(),
            format!("frame-ancestors 'self' {FRAME_ANCESTORS}"),
        ]
        .join("; ")
    }

    /// All headers of the View's document. There is no `Access-Control-Allow-Origin`: no other View may read it.
    pub fn response_headers(&self, mode: Mode, permissions: Permissions) -> Vec<(&'static str, String)> {
        common_headers(self.header(mode), permissions)
    }

    /// `hostCapabilities.sandbox`: what was granted, which may be less than what was declared.
    pub fn capabilities(&self, permissions: Permissions) -> Value {
        let list = |sources: &[Source]| json!(sources.iter().map(Source::to_string).collect::<Vec<_>>());
        let features: Map<String, Value> =
            features(permissions).filter(|it| it.2).map(|it| (it.0.to_owned(), json!({}))).collect();
        json!({
            "permissions": features,
            "csp": {
                "connectDomains": list(&self.connect),
                "resourceDomains": list(&self.resource),
                "frameDomains": list(&self.frame),
                "baseUriDomains": list(&self.base_uri),
            },
        })
    }

    /// Whether the View may show a nested frame at an address.
    pub fn allows_frame(&self, scheme: &str, host: &str, port: u16) -> bool {
        self.frame.iter().any(|it| it.covers(scheme, host, port))
    }

    /// Whether the View may have a connection to a host and port. To complete addresses with a domain is not to go there.
    pub fn reaches(&self, host: &str, port: u16) -> bool {
        let all = [&self.connect, &self.resource, &self.frame].into_iter().flatten();
        all.into_iter().any(|it| it.covers_tunnel(host, port))
    }
}

/// The headers of a page of a View's origin, with its policy.
pub(super) fn common_headers(policy: String, permissions: Permissions) -> Vec<(&'static str, String)> {
    vec![
        ("Content-Security-Policy", policy),
        ("Content-Type", "text/html; charset=utf-8".to_owned()),
        ("Permissions-Policy", permissions_policy(permissions)),
        ("X-Content-Type-Options", "nosniff".to_owned()),
        ("Referrer-Policy", "no-referrer".to_owned()),
        ("Cache-Control", "no-store".to_owned()),
        // A page could ask for it by a tag of its own otherwise.
        ("X-DNS-Prefetch-Control", "off".to_owned()),
    ]
}

/// The frame's `allow` attribute.
pub fn allow_attribute(permissions: Permissions) -> String {
    features(permissions).filter(|it| it.2).map(|it| it.1).collect::<Vec<_>>().join("; ")
}

fn or_none(sources: &[Source]) -> String {
    if sources.is_empty() { " 'none'".to_owned() } else { join(sources) }
}

fn join(sources: &[Source]) -> String {
    sources.iter().map(|it| format!(" {it}")).collect()
}

/// Each feature that a View can ask for: its name in MCP Apps, its name on the web, and whether it is granted.
pub(super) fn features(it: Permissions) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    [
        ("camera", "camera", it.camera),
        ("microphone", "microphone", it.microphone),
        ("geolocation", "geolocation", it.geolocation),
        ("clipboardWrite", "clipboard-write", it.clipboard_write),
    ]
    .into_iter()
}

fn permissions_policy(permissions: Permissions) -> String {
    let asked = features(permissions)
        .map(|(_, name, granted)| format!("{name}=({})", if granted { "self" } else { "" }));
    let denied = DENIED_FEATURES.iter().map(|name| format!("{name}=()"));
    asked.chain(denied).collect::<Vec<_>>().join(", ")
}

/// Features that no View can ask for.
const DENIED_FEATURES: &[&str] = &[
    "accelerometer",
    "ambient-light-sensor",
    "bluetooth",
    "browsing-topics",
    "clipboard-read",
    "display-capture",
    "gamepad",
    "gyroscope",
    "hid",
    "identity-credentials-get",
    "idle-detection",
    "local-fonts",
    "magnetometer",
    "midi",
    "otp-credentials",
    "payment",
    "publickey-credentials-create",
    "publickey-credentials-get",
    "screen-wake-lock",
    "serial",
    "storage-access",
    "usb",
    "web-share",
    "window-management",
    "xr-spatial-tracking",
];
