//! Views that do not behave: they ask without end, call without end, weigh too much, or take their page with them. Each is bounded, and
//! the conversation stays as it was.

use serde_json::json;
use usher_engine::{Origin, ledger::LedgerEntry};
use usher_host::conversation::{ApprovalChoice, CallState, HostEvent, Notice, Opened, PageLoss, ViewReply};
use usher_tests::stage::{SERVER, Setting, Stage, request_id, within};

use super::scene::{Scene, legacy};

/// The scene with a tool that a View polls.
async fn polled() -> Scene {
    Scene::open(
        legacy()
            .tool("poll", "{}", r#"{"content":[{"type":"text","text":"tick"}]}"#)
            .view("<p>hello</p>", None),
    )
    .await
}

impl Scene {
    async fn poll(&self, view: &str) -> ViewReply {
        self.ask(view, "tools/call", &json!({"name": "poll"})).await
    }

    async fn opened(&self) -> Opened {
        self.stage.opened(&self.conversation).await
    }

    /// The next call that waits for the user and was not seen yet.
    async fn question(&self, seen: &[String]) -> String {
        self.stage
            .told(|event| match event {
                HostEvent::Item { call: Some(call), .. }
                    if matches!(call.state, CallState::AwaitingApproval(_)) && !seen.contains(&call.id) =>
                {
                    Some(call.id.clone())
                }
                _ => None,
            })
            .await
    }
}

fn error(reply: &ViewReply) -> &str {
    match reply {
        ViewReply::Error(error) => &error.message,
        ViewReply::Result(result) => panic!("{result}"),
    }
}

#[tokio::test]
async fn a_view_has_one_question_before_the_user_and_none_after_a_refusal() {
    let scene = polled().await;
    let host = &scene.stage.host;
    host.revoke_approval(SERVER, None).await.unwrap();
    let view = scene.view().await;
    let other = scene.view().await;
    let user = async {
        let id = scene.question(&[]).await;
        // The others wait in line, and are shown nowhere.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let waiting =
            |it: &&usher_host::conversation::CallRecord| matches!(it.state, CallState::AwaitingApproval(_));
        assert_eq!(scene.opened().await.calls.values().filter(waiting).count(), 1);
        host.answer_approval(&id, ApprovalChoice::Refuse).unwrap();
        vec![id]
    };
    let polls = futures::future::join_all((0..8).map(|_| scene.poll(&view)));
    let (replies, seen) = futures::future::join(polls, user).await;
    let mut said: Vec<&str> = replies.iter().map(error).collect();
    said.sort_unstable();
    assert_eq!(said[..1], ["the user did not allow this call"]);
    assert!(said[1..].iter().all(|it| it.starts_with("the user refused what this View asked")), "{said:?}");
    // Nor for anything else.
    let link = scene.ask(&view, "ui/open-link", &json!({"url": "https://a.example/"})).await;
    assert_eq!(link, ViewReply::Result(json!({"isError": true}).into()));
    let calls = scene.opened().await.calls;
    assert_eq!(
        calls.values().filter(|it| it.origin == Origin::View).count(),
        1,
        "no call was begun for the rest"
    );
    // Another View asks for itself, and what is allowed needs no question.
    let user = async {
        let id = scene.question(&seen).await;
        host.answer_approval(&id, ApprovalChoice::Server).unwrap();
    };
    let (reply, ()) = futures::future::join(scene.poll(&other), user).await;
    assert!(matches!(reply, ViewReply::Result(_)), "{reply:?}");
    assert!(matches!(scene.poll(&view).await, ViewReply::Result(_)));
}

#[tokio::test]
async fn a_call_that_a_view_takes_back_from_before_the_user_counts_as_refused() {
    let scene = polled().await;
    let host = &scene.stage.host;
    host.revoke_approval(SERVER, None).await.unwrap();
    let (view, id) = (scene.view().await, request_id());
    let asks = within(host.view_request(&view, id, "tools/call", r#"{"name":"poll"}"#));
    let takes_back = async {
        let call = scene.question(&[]).await;
        host.cancel_view_request(&view, id);
        call
    };
    let (reply, call) = futures::future::join(asks, takes_back).await;
    assert!(matches!(reply, Ok(ViewReply::Error(_))), "{reply:?}");
    assert!(error(&scene.poll(&view).await).contains("may ask again later"));
    // Another one is asked about, and one that the user allowed and the View cancels is no question.
    let other = scene.view().await;
    let user = async {
        let id = scene.question(&[call]).await;
        host.answer_approval(&id, ApprovalChoice::Server).unwrap();
    };
    let (reply, ()) = futures::future::join(scene.poll(&other), user).await;
    assert!(matches!(reply, ViewReply::Result(_)), "{reply:?}");
}

#[tokio::test]
async fn those_who_wait_in_line_go_on_when_the_user_allows_the_tool() {
    let scene = polled().await;
    let host = &scene.stage.host;
    host.revoke_approval(SERVER, None).await.unwrap();
    let view = scene.view().await;
    let user = async {
        let id = scene.question(&[]).await;
        host.answer_approval(&id, ApprovalChoice::Tool).unwrap();
    };
    let polls = futures::future::join_all((0..6).map(|_| scene.poll(&view)));
    let (replies, ()) = futures::future::join(polls, user).await;
    assert!(replies.iter().all(|it| matches!(it, ViewReply::Result(_))), "{replies:?}");
}

#[tokio::test]
async fn old_calls_of_views_become_one_line_in_memory_on_disk_and_in_the_window() {
    let scene = polled().await;
    let mut views = Vec::new();
    for _ in 0..9 {
        views.push(scene.view().await);
    }
    let before = scene.opened().await.ledger;
    // Each View has a burst of its own.
    for view in &views {
        for _ in 0..35 {
            let reply = scene.poll(view).await;
            assert!(matches!(reply, ViewReply::Result(_)), "{reply:?}");
        }
    }
    let opened = scene.opened().await;
    let lines = |opened: &Opened| -> Vec<(u64, u64)> {
        let line = |it: &LedgerEntry| match it {
            LedgerEntry::ViewCalls { tool, calls, failed, .. } if tool.ends_with(" / poll") => {
                Some((*calls, *failed))
            }
            _ => None,
        };
        opened.ledger.iter().filter_map(|it| line(&it.entry)).collect()
    };
    let whole = |opened: &Opened| opened.calls.values().filter(|it| it.origin == Origin::View).count() as u64;
    let [(folded, 0)] = lines(&opened)[..] else { panic!("{:?}", lines(&opened)) };
    assert_eq!(folded + whole(&opened), 9 * 35);
    assert!((64..128).contains(&whole(&opened)), "{} are whole", whole(&opened));
    // What stood before stands, in order, and the rest is bounded.
    assert!(opened.ledger.iter().filter(|it| before.contains(it)).count() == before.len());
    assert!(opened.ledger.is_sorted_by_key(|it| it.seq));
    assert!(opened.ledger.len() < before.len() + 128 * 10, "{} facts", opened.ledger.len());
    // The window is told which rows go and which comes.
    let mut rows: Vec<i64> = Vec::new();
    for event in scene.stage.events() {
        match event {
            HostEvent::Ledger { row, .. } => rows.push(row.seq),
            HostEvent::LedgerFolded { call_ids, rows: lines, .. } => {
                assert!(!call_ids.is_empty());
                rows.retain(|seq| !lines.iter().any(|it| it.seq == *seq));
                rows.extend(lines.iter().map(|it| it.seq));
            }
            _ => {}
        }
    }
    let line = opened.ledger.iter().find(|it| matches!(it.entry, LedgerEntry::ViewCalls { .. })).unwrap();
    assert_eq!(rows.iter().filter(|seq| **seq == line.seq).count(), 1);
    assert!(line.entry.line().text.contains("times by Views before"), "{}", line.entry.line().text);
    // The disk has the same.
    let (conversation, folder) = (scene.conversation.clone(), scene.stage.close().await.unwrap());
    let again = Stage::reopen(folder.path(), &Setting::with(Vec::new())).await;
    let kept = again.opened(&conversation).await;
    assert_eq!(kept.ledger, opened.ledger);
    assert_eq!(kept.calls.keys().collect::<Vec<_>>(), opened.calls.keys().collect::<Vec<_>>());
    let database = rusqlite::Connection::open(folder.path().join("usher.db")).unwrap();
    let payloads: i64 = database.query_row("SELECT count(*) FROM payload", [], |row| row.get(0)).unwrap();
    assert!(payloads < 128 * 2, "{payloads} values are kept");
}

#[tokio::test]
async fn what_weighs_too_much_at_once_is_refused_before_it_is_read() {
    let scene = polled().await;
    let view = scene.view().await;
    let heavy = json!({"content": [], "structuredContent": {"x": "y".repeat(3 << 20)}});
    let mut refused = 0;
    for _ in 0..12 {
        if let ViewReply::Error(error) = scene.ask(&view, "ui/nothing", &heavy).await {
            refused += usize::from(error.message.contains("too much at once"));
        }
    }
    assert!(refused > 0 && refused < 12, "{refused} of 12");
    assert!(matches!(scene.ask(&view, "ping", &json!({})).await, ViewReply::Result(_)));
}

#[tokio::test]
async fn views_that_end_with_their_page_wait_for_the_user_and_are_named() {
    let scene = polled().await;
    let host = &scene.stage.host;
    let notices = || -> Vec<Notice> {
        let all = scene.stage.events().into_iter();
        all.filter_map(|it| if let HostEvent::Notice(notice) = it { Some(notice) } else { None }).collect()
    };
    assert_eq!(host.open_views(), 0);
    let launch = host.open_view(&scene.call).await.unwrap();
    let label = launch.origin.strip_prefix("mcpview://").unwrap().to_owned();
    assert!(host.is_view_open(&label));
    assert!(!host.is_view_open("0123456789abcdef0123456789abcdef.localhost"));
    assert_eq!((host.open_views(), host.view_stopped(&scene.call)), (1, None));
    let before = scene.opened().await;
    host.page_lost(PageLoss::Silent);
    // Its address is nobody's from now on, nor is it heard.
    assert_eq!((host.open_views(), host.is_view_open(&label)), (0, false));
    assert!(host.view_request(&launch.view_id, request_id(), "ping", "").await.is_err());
    let why = host.view_stopped(&scene.call).unwrap();
    assert!(why.contains("stopped answering while this View ran"), "{why}");
    let told =
        scene.stage.told(|it| if let HostEvent::Notice(it) = it { Some(it.clone()) } else { None }).await;
    assert!(told.what.contains("The View show of"), "{}", told.what);
    assert_eq!(notices().len(), 1);
    let after = scene.opened().await;
    assert_eq!((after.items, after.ledger), (before.items, before.ledger), "the conversation is as it was");
    // It can be started again, and then nothing is said of it any more.
    assert!(host.open_view(&scene.call).await.is_ok());
    assert_eq!(host.view_stopped(&scene.call), None);
}
