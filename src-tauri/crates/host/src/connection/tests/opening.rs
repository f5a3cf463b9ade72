//! Finding the revision with servers that do not know the newest, and with those that behave badly.

use expect_test::expect;

use super::*;

fn hasty() -> ConnectionOptions {
    ConnectionOptions { probe_timeout: Duration::from_millis(1), ..patient() }
}

fn remembered(server: &str, revision: Revision) -> Option<Remembered> {
    Some(Remembered { revision, server: Some(server.to_owned()) })
}

fn old_server() -> Script {
    script(|mut far| async move {
        far.shake("2025-06-18").await;
        far.idle().await;
    })
}

#[tokio::test]
async fn an_old_server_that_refuses_the_probe_is_greeted_on_the_same_stream() {
    let far = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32601,"message":"Method not found"}"#).await;
        far.shake("2025-11-25").await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    expect![[r"
        Asked server/discover under 2026-12-01.
        The server does not know server/discover (Method not found (-32601)); trying the handshake.
        Sent initialize, offering 2025-11-25.
        far speaks 2025-11-25."]]
    .assert_eq(&steps(&connection));
    // The next start spares the question.
    assert_eq!(connection.greeting().remember, remembered("far 1", Revision::V2025_11_25));
}

#[tokio::test]
async fn a_server_that_ends_at_the_probe_is_started_again() {
    let far = script(|mut far| async move {
        let _asked = far.request().await;
    });
    let (connection, mut events) = open([far, old_server()], &patient()).await;
    expect![[r"
        Asked server/discover under 2026-12-01.
        The server ended when it was asked server/discover (the stream ended); it is started again with the handshake.
        Sent initialize, offering 2025-11-25.
        The server answered initialize with 2025-06-18.
        far speaks 2025-06-18."]]
    .assert_eq(&steps(&connection.unwrap()));
    let fallbacks = told(&mut events)
        .into_iter()
        .filter(|it| matches!(it, ConnectionEvent::Negotiated(it) if it.fallback));
    assert_eq!(fallbacks.count(), 2);
}

#[tokio::test]
async fn an_empty_answer_to_the_probe_is_an_old_server() {
    let far = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.answer(&id, "{}").await;
        far.shake("2025-03-26").await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    assert_eq!(connection.revision(), Revision::V2025_03_26);
    assert!(steps(&connection).contains("is not one (missing field `supportedVersions`"));
}

#[tokio::test]
async fn silence_is_waited_for_once_only() {
    let far = script(|mut far| async move {
        let (_, method, _) = far.request().await.unwrap();
        assert_eq!(method, "server/discover");
        far.shake("2025-06-18").await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &hasty()).await;
    let remember = connection.unwrap().greeting().remember.clone();
    assert_eq!(remember, remembered("far 1", Revision::V2025_06_18));
    let options = ConnectionOptions { remembered: remember.clone(), ..patient() };
    let (connection, _events) = open([old_server()], &options).await;
    let connection = connection.unwrap();
    assert_eq!(connection.greeting().remember, remember);
    expect![[r"
        Last time the server spoke 2025-06-18, so the handshake comes first.
        Sent initialize, offering 2025-11-25.
        The server answered initialize with 2025-06-18.
        far speaks 2025-06-18."]]
    .assert_eq(&steps(&connection));
}

#[tokio::test]
async fn a_late_answer_to_the_probe_still_counts() {
    let far = script(|mut far| async move {
        let (probe, _, _) = far.request().await.unwrap();
        let (_, method, _) = far.request().await.unwrap();
        assert_eq!(method, "initialize");
        far.answer(&probe, r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &hasty()).await;
    let connection = connection.unwrap();
    assert_eq!(connection.revision(), Revision::V2026_07_28);
    assert_eq!(connection.greeting().remember, None);
}

#[tokio::test]
async fn a_late_refusal_of_the_probe_does_no_harm() {
    let far = script(|mut far| async move {
        let (probe, _, _) = far.request().await.unwrap();
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&probe, r#"{"code":-32600,"message":"not initialized"}"#).await;
        far.shake_as(&id, "2025-11-25").await;
        let (id, method, params) = far.request().await.unwrap();
        assert_eq!(method, "tools/list");
        assert_eq!(params.get(), r#"{"_meta":{"progressToken":0}}"#);
        far.answer(&id, r#"{"tools":[]}"#).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &hasty()).await;
    assert_eq!(connection.unwrap().list_tools().await.unwrap().0.tools, []);
}

#[tokio::test]
async fn a_server_that_breaks_after_the_probe_is_started_again_without_it() {
    let far = script(|mut far| async move {
        let (_probe, _, _) = far.request().await.unwrap();
        let (_initialize, _, _) = far.request().await.unwrap();
    });
    let (connection, _events) = open([far, old_server()], &hasty()).await;
    assert_eq!(connection.unwrap().revision(), Revision::V2025_06_18);
}

#[tokio::test]
async fn an_updated_server_is_probed_although_it_is_remembered() {
    let modern = || {
        script(|mut far| async move {
            let (id, method, _) = far.request().await.unwrap();
            if method == "initialize" {
                far.refuse(&id, r#"{"code":-32601,"message":"gone"}"#).await;
            } else {
                far.answer(&id, r#"{"supportedVersions":["2026-12-01"],"capabilities":{}}"#).await;
            }
            far.idle().await;
        })
    };
    let options = ConnectionOptions { remembered: Some(Revision::V2025_11_25.into()), ..patient() };
    let (connection, _events) = open([modern(), modern()], &options).await;
    assert_eq!(connection.unwrap().revision(), Revision::V2026_12_01);
}

#[tokio::test]
async fn what_cannot_be_spoken_is_said_clearly() {
    async fn check(script: Script, expected: expect_test::Expect) {
        let (connection, _events) = open([script], &patient()).await;
        let Err(error) = connection else { panic!("it opened") };
        expected.assert_eq(&format!("{error}\n{}", error.todo()));
    }
    let future = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32022,"message":"no","data":{"supported":["2027-05-01"]}}"#).await;
        far.idle().await;
    });
    check(
        future,
        expect![[r#"
        the server speaks 2027-05-01, of which Usher speaks none
        Update the server, or Usher."#]],
    )
    .await;
    let ancient = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32601,"message":"no"}"#).await;
        let (id, _, _) = far.request().await.unwrap();
        far.answer(&id, r#"{"protocolVersion":"2024-10-07","capabilities":{}}"#).await;
        far.idle().await;
    });
    check(
        ancient,
        expect![[r#"
        the server speaks 2024-10-07, of which Usher speaks none
        Update the server, or Usher."#]],
    )
    .await;
    let strict = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32021,"message":"needs sampling"}"#).await;
        far.idle().await;
    });
    check(
        strict,
        expect![[r#"
        the server refused server/discover: needs sampling (-32021)
        Nothing was changed. Report this to the server's authors, with what it answered."#]],
    )
    .await;
}

#[tokio::test]
async fn an_unsupported_error_that_names_nothing_tries_the_next() {
    let far = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32022,"message":"no"}"#).await;
        far.greet(&["2026-07-28"]).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    assert_eq!(connection.unwrap().revision(), Revision::V2026_07_28);
}

#[tokio::test]
async fn a_server_of_an_earlier_revision_is_asked_under_it_first_the_next_time() {
    let only = |revisions: &'static [&'static str]| {
        script(move |mut far| async move {
            far.greet(revisions).await;
            far.idle().await;
        })
    };
    let (connection, _events) = open([only(&["2026-07-28"])], &patient()).await;
    let remember = connection.unwrap().greeting().remember.clone();
    assert_eq!(remember, remembered("far 1", Revision::V2026_07_28));
    let options = ConnectionOptions { remembered: remember.clone(), ..patient() };
    let (connection, _events) = open([only(&["2026-07-28"])], &options).await;
    let connection = connection.unwrap();
    expect![[r"
        Last time the server spoke 2026-07-28, so it comes first.
        Asked server/discover under 2026-07-28.
        far speaks 2026-07-28."]]
    .assert_eq(&steps(&connection));
    assert_eq!(connection.greeting().remember, remember);
    // One that has learned a newer one names it, and is not held to the old one.
    let (connection, _events) = open([only(&["2026-07-28", "2026-12-01"])], &options).await;
    let connection = connection.unwrap();
    assert_eq!(
        (connection.revision(), connection.greeting().remember.clone()),
        (Revision::V2026_12_01, None)
    );
}

#[tokio::test]
async fn another_server_than_the_remembered_one_is_asked_anew_the_next_time() {
    let options = ConnectionOptions { remembered: remembered("far 0.9", Revision::V2025_06_18), ..patient() };
    let (connection, _events) = open([old_server()], &options).await;
    let connection = connection.unwrap();
    assert_eq!(connection.greeting().remember, None);
    assert!(steps(&connection).contains("Last time it was far 0.9, now it is far 1;"));
}

async fn pinned(revision: Revision, scripts: impl IntoIterator<Item = Script>) -> Result<String, String> {
    let options = ConnectionOptions { pinned: Some(revision), ..patient() };
    let (connection, _events) = open(scripts, &options).await;
    connection.map(|it| steps(&it)).map_err(|error| format!("{error}\n{}", error.todo()))
}

#[tokio::test]
async fn a_chosen_revision_is_the_only_one_that_is_tried() {
    let both = || {
        script(|mut far| async move {
            far.greet(&["2026-07-28", "2026-12-01"]).await;
            far.idle().await;
        })
    };
    expect![[r"
        2026-07-28 was chosen for this server; no other is tried.
        Asked server/discover under 2026-07-28.
        far speaks 2026-07-28."]]
    .assert_eq(&pinned(Revision::V2026_07_28, [both()]).await.unwrap());
    expect![[r"
        2025-06-18 was chosen for this server; no other is tried.
        Sent initialize, offering 2025-06-18.
        far speaks 2025-06-18."]]
    .assert_eq(&pinned(Revision::V2025_06_18, [old_server()]).await.unwrap());
}

#[tokio::test]
async fn a_server_that_does_not_speak_the_chosen_revision_is_not_used() {
    expect![[r"
        only 2025-11-25 was to be spoken with the server, which speaks 2025-06-18
        Choose another revision for it, or automatic negotiation."]]
    .assert_eq(&pinned(Revision::V2025_11_25, [old_server()]).await.unwrap_err());
    let other = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32022,"message":"no","data":{"supported":["2026-12-01"]}}"#).await;
        far.idle().await;
    });
    expect![[r"
        only 2026-07-28 was to be spoken with the server, which speaks 2026-12-01
        Choose another revision for it, or automatic negotiation."]]
    .assert_eq(&pinned(Revision::V2026_07_28, [other]).await.unwrap_err());
    let old = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32601,"message":"Method not found"}"#).await;
        far.idle().await;
    });
    expect![[r"
        only 2026-12-01 was to be spoken with the server, which speaks something else
        Choose another revision for it, or automatic negotiation."]]
    .assert_eq(&pinned(Revision::V2026_12_01, [old]).await.unwrap_err());
}
