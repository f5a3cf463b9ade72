//! What is granted of what hostile servers declare, and the headers to the letter.

use expect_test::expect;

use super::*;

fn granted(entry: &str) -> String {
    source(entry, true).map_or_else(|why| format!("{why:?}"), |it| it.to_string())
}

#[test]
fn domains_are_granted_whole_or_not_at_all() {
    let entries = [
        "https://cdn.example.com",
        "cdn.example.com",
        "*.example.com",
        "https://*.example.com:8443",
        "wss://live.example.com",
        "https://cdn.example.com/",
        "HTTPS://CDN.Example.com",
        "https://93.184.216.34",
        "https://xn--bcher-kva.example",
        // Other schemes, and those of the window.
        "http://example.com",
        "ws://example.com",
        "ipc:",
        "ipc://localhost",
        "http://ipc.localhost",
        "https://ipc.localhost",
        "tauri:",
        "tauri://localhost",
        "asset:",
        "isolation-123:",
        "isolation://x",
        "mcpview:",
        "data:",
        "blob:",
        "https:",
        "https://",
        "filesystem:",
        "javascript:alert(1)",
        "'self'",
        "'unsafe-eval'",
        // This machine and its network.
        "localhost",
        "https://localhost:3000",
        "https://a.localhost",
        "*.localhost",
        "https://127.0.0.1",
        "https://127.1",
        "https://0x7f.1",
        "https://2130706433",
        "https://10.0.0.1",
        "https://172.16.0.1",
        "https://192.168.1.1",
        "https://169.254.169.254",
        "https://100.64.0.1",
        "https://0.0.0.0",
        "https://[::1]",
        "https://[::ffff:127.0.0.1]",
        "https://printer.local",
        "https://router",
        "https://db.internal",
        "https://localhost.",
        // Wildcards.
        "*",
        "https://*",
        "*.com",
        "*.*",
        "a.*.com",
        "*example.com",
        "https://example.com:*",
        "*.1.2.3.4",
        // Injection.
        "https://a.example; script-src *",
        "https://a.example https://b.example",
        "https://a.example,https://b.example",
        "https://a.example\nX-Evil: 1",
        "https://a.example/path",
        "https://a.example?q",
        "https://user@a.example",
        "https://a.example:0",
        "https://a.example:99999",
        "https://a.example:+80",
        "https://a..example",
        "https://-a.example",
        "https://a_b.example",
        "https://bücher.example",
        "",
        "https://a.example//",
        "https://a.example:443:443",
    ];
    let lines: Vec<String> = entries.iter().map(|it| format!("{it:?} {}", granted(it))).collect();
    expect![[r#"
        "https://cdn.example.com" https://cdn.example.com
        "cdn.example.com" https://cdn.example.com
        "*.example.com" https://*.example.com
        "https://*.example.com:8443" https://*.example.com:8443
        "wss://live.example.com" wss://live.example.com
        "https://cdn.example.com/" https://cdn.example.com
        "HTTPS://CDN.Example.com" https://cdn.example.com
        "https://93.184.216.34" https://93.184.216.34
        "https://xn--bcher-kva.example" https://xn--bcher-kva.example
        "http://example.com" Scheme
        "ws://example.com" Scheme
        "ipc:" Scheme
        "ipc://localhost" Scheme
        "http://ipc.localhost" Scheme
        "https://ipc.localhost" Local
        "tauri:" Scheme
        "tauri://localhost" Scheme
        "asset:" Scheme
        "isolation-123:" Scheme
        "isolation://x" Scheme
        "mcpview:" Scheme
        "data:" Scheme
        "blob:" Scheme
        "https:" Scheme
        "https://" Host
        "filesystem:" Scheme
        "javascript:alert(1)" Characters
        "'self'" Characters
        "'unsafe-eval'" Characters
        "localhost" Local
        "https://localhost:3000" Local
        "https://a.localhost" Local
        "*.localhost" Local
        "https://127.0.0.1" Local
        "https://127.1" Host
        "https://0x7f.1" Host
        "https://2130706433" Local
        "https://10.0.0.1" Local
        "https://172.16.0.1" Local
        "https://192.168.1.1" Local
        "https://169.254.169.254" Local
        "https://100.64.0.1" Local
        "https://0.0.0.0" Local
        "https://[::1]" Host
        "https://[::ffff:127.0.0.1]" Host
        "https://printer.local" Local
        "https://router" Local
        "https://db.internal" Local
        "https://localhost." Host
        "*" Wildcard
        "https://*" Wildcard
        "*.com" Wildcard
        "*.*" Wildcard
        "a.*.com" Wildcard
        "*example.com" Wildcard
        "https://example.com:*" Port
        "*.1.2.3.4" Wildcard
        "https://a.example; script-src *" Characters
        "https://a.example https://b.example" Characters
        "https://a.example,https://b.example" Characters
        "https://a.example\nX-Evil: 1" Characters
        "https://a.example/path" Path
        "https://a.example?q" Characters
        "https://user@a.example" Characters
        "https://a.example:0" Port
        "https://a.example:99999" Port
        "https://a.example:+80" Characters
        "https://a..example" Host
        "https://-a.example" Host
        "https://a_b.example" Host
        "https://bücher.example" Characters
        "" Characters
        "https://a.example//" Path
        "https://a.example:443:443" Port"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn sockets_are_for_connections_only() {
    assert_eq!(source("wss://a.example", false), Err(NotGranted::Scheme));
}

#[test]
fn the_headers_of_a_view_without_wishes() {
    let headers = GrantedCsp::default().response_headers(Mode::Strict, Permissions::default());
    let lines: Vec<String> = headers.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    expect![[r#"
        Content-Security-Policy: default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; style-src 'self' 'unsafe-inline' blob: data:; img-src 'self' blob: data:; font-src 'self' blob: data:; media-src 'self' blob: data:; connect-src 'none'; worker-src 'self' blob:; frame-src 'none'; child-src 'none'; object-src 'none'; base-uri 'self'; form-action 'none'; webrtc 'block'; frame-ancestors 'self' tauri: http://tauri.localhost https://tauri.localhost
        Content-Type: text/html; charset=utf-8
        Permissions-Policy: camera=(), microphone=(), geolocation=(), clipboard-write=(), accelerometer=(), ambient-light-sensor=(), bluetooth=(), browsing-topics=(), clipboard-read=(), display-capture=(), gamepad=(), gyroscope=(), hid=(), identity-credentials-get=(), idle-detection=(), local-fonts=(), magnetometer=(), midi=(), otp-credentials=(), payment=(), publickey-credentials-create=(), publickey-credentials-get=(), screen-wake-lock=(), serial=(), storage-access=(), usb=(), web-share=(), window-management=(), xr-spatial-tracking=()
        X-Content-Type-Options: nosniff
        Referrer-Policy: no-referrer
        Cache-Control: no-store
        X-DNS-Prefetch-Control: off"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn the_policy_names_what_was_granted_and_nothing_else() {
    let declared = DeclaredCsp {
        connect: vec![
            "https://api.example.com".to_owned(),
            "http://ipc.localhost".to_owned(),
            "wss://live.example.com".to_owned(),
        ],
        resource: vec!["*.cdn.example.com".to_owned(), "*".to_owned()],
        frame: vec!["https://maps.example.com".to_owned(), "wss://maps.example.com".to_owned()],
        base_uri: vec!["https://cdn.example.com".to_owned()],
    };
    let (csp, rejected) = grant(&declared);
    expect![[r#"
        default-src 'none'
        script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data: https://*.cdn.example.com
        style-src 'self' 'unsafe-inline' blob: data: https://*.cdn.example.com
        img-src 'self' blob: data: https://*.cdn.example.com
        font-src 'self' blob: data: https://*.cdn.example.com
        media-src 'self' blob: data: https://*.cdn.example.com
        connect-src https://api.example.com wss://live.example.com
        worker-src 'self' blob:
        frame-src https://maps.example.com
        child-src https://maps.example.com
        object-src 'none'
        base-uri https://cdn.example.com
        form-action 'none'
        webrtc 'block'
        frame-ancestors 'self' tauri: http://tauri.localhost https://tauri.localhost"#]]
    .assert_eq(&csp.header(Mode::Strict).replace("; ", "\n"));
    let rejected: Vec<String> =
        rejected.iter().map(|it| format!("{} {}: {}", it.list, it.entry, it.why)).collect();
    expect![[r#"
        connectDomains http://ipc.localhost: only https addresses (and wss for connections) are granted
        resourceDomains *: a wildcard is granted only as the first label of a full domain, as in *.example.com
        frameDomains wss://maps.example.com: only https addresses (and wss for connections) are granted"#]]
    .assert_eq(&rejected.join("\n"));
    let permissions = Permissions { camera: true, clipboard_write: true, ..Permissions::default() };
    expect![[r#"{"permissions":{"camera":{},"clipboardWrite":{}},"csp":{"connectDomains":["https://api.example.com","wss://live.example.com"],"resourceDomains":["https://*.cdn.example.com"],"frameDomains":["https://maps.example.com"],"baseUriDomains":["https://cdn.example.com"]}}"#]].assert_eq(&csp.capabilities(permissions).to_string());
    assert_eq!(allow_attribute(permissions), "camera; clipboard-write");
    assert!(
        permissions_policy(permissions)
            .starts_with("camera=(self), microphone=(), geolocation=(), clipboard-write=(self), ")
    );
}

#[test]
fn a_relaxed_policy_adds_no_domain() {
    let connect = vec!["https://api.example.com".to_owned(), "http://127.0.0.1".to_owned()];
    let resource = vec!["cdn.example.com".to_owned()];
    let (csp, _) = grant(&DeclaredCsp { connect, resource, ..DeclaredCsp::default() });
    let (strict, relaxed) = (csp.header(Mode::Strict), csp.header(Mode::Relaxed));
    let others: Vec<&str> =
        relaxed.split("; ").filter(|it| !strict.split("; ").any(|old| old == *it)).collect();
    expect![[r#"
        connect-src 'self' https://api.example.com
        worker-src 'self' blob: https://cdn.example.com"#]]
    .assert_eq(&others.join("\n"));
}

#[test]
fn a_granted_family_covers_its_members_only() {
    let family = source("*.example.com", true).unwrap();
    let covered = [
        "a.example.com",
        "a.b.example.com",
        "example.com",
        ".example.com",
        "aexample.com",
        "a.example.com.evil.net",
    ];
    assert_eq!(covered.map(|it| family.covers("https", it, 443)), [true, true, false, false, false, false]);
    assert!(!family.covers("http", "a.example.com", 443) && !family.covers("https", "a.example.com", 80));
}

#[test]
fn a_long_list_is_cut() {
    let connect = (0..100).map(|it| format!("https://d{it}.example.com")).collect();
    let (csp, rejected) = grant(&DeclaredCsp { connect, ..DeclaredCsp::default() });
    assert_eq!((csp.connect.len(), rejected.len()), (64, 36));
    // What is wrong does not keep what is right out, unless there is more of it than anybody reads.
    let wrong = |count: usize| {
        let connect =
            (0..count).map(|it| format!("http://d{it}.example.com")).chain(["a.example.com".to_owned()]);
        let (csp, rejected) = grant(&DeclaredCsp { connect: connect.collect(), ..DeclaredCsp::default() });
        (csp.connect.len(), rejected.len())
    };
    assert_eq!((wrong(64), wrong(65), wrong(100_000)), ((1, 64), (0, 64), (0, 64)));
}
