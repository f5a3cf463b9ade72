//! What is written comes back, table by table; deletion and search.

use std::{fs, path::Path};

use bytes::Bytes;

use super::*;

mod kill;
mod trouble;

fn quick() -> StoreOptions {
    StoreOptions {
        busy: Duration::from_millis(20),
        retry: Duration::from_millis(5),
        ..StoreOptions::default()
    }
}

fn open(dir: &Path) -> Store {
    let opened = Store::open(dir, &quick()).expect("the store opens");
    assert_eq!(opened.notices, []);
    opened.store
}

fn conversation(id: &str, title: &str) -> ConversationRow {
    ConversationRow {
        id: id.into(),
        title: title.into(),
        created_ms: 1,
        updated_ms: 2,
        mode: "chat".into(),
        model_id: "m".into(),
        custom: "[]".into(),
        by_command: false,
    }
}

fn item(id: &str, kind: &str, text: &str) -> ItemRow {
    ItemRow {
        id: id.into(),
        conversation_id: "c".into(),
        seq: 1,
        at_ms: 3,
        kind: kind.into(),
        streaming: false,
        body: "{}".into(),
        text: text.into(),
    }
}

fn payload(handle: &str, bytes: &[u8]) -> NewPayload {
    NewPayload {
        row: PayloadRow {
            handle: handle.into(),
            conversation_id: "c".into(),
            call_id: Some("k".into()),
            audience: "programmatic".into(),
            format: "structured".into(),
            mime: "application/json".into(),
            label: "for scripts".into(),
            created_ms: 5,
            size: i64::try_from(bytes.len()).unwrap(),
        },
        bytes: Bytes::copy_from_slice(bytes),
    }
}

fn call(id: &str, running: bool) -> CallRow {
    CallRow {
        id: id.into(),
        conversation_id: "c".into(),
        item_id: Some("i".into()),
        number: 1,
        running,
        state: "running".into(),
        record: r#"{"id":9007199254740993}"#.into(),
    }
}

fn exchange(id: &str) -> ExchangeRow {
    ExchangeRow {
        id: id.into(),
        conversation_id: "c".into(),
        at_ms: 7,
        model: "demo".into(),
        url: "http://localhost/v1".into(),
        headers: "[]".into(),
        sha256: "00".into(),
        attempts: 1,
        outcome: "sent".into(),
        usage: None,
        spans: "[]".into(),
        size: 4,
    }
}

#[tokio::test]
async fn settings_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.put_setting("theme", "\"dark\"").await.unwrap();
    store.put_setting("theme", "\"light\"").await.unwrap();
    assert_eq!(store.setting("theme").await.unwrap().as_deref(), Some("\"light\""));
    assert_eq!(store.setting("none").await.unwrap(), None);
    assert_eq!(store.settings().await.unwrap().len(), 1);
}

#[tokio::test]
async fn servers_approvals_and_policies_come_back_and_go_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let row = |id: &str, sort| ServerRow {
        id: id.into(),
        name: "N".into(),
        spec: "{}".into(),
        enabled: true,
        era: Some("{}".into()),
        sort,
    };
    let approval = |server: &str, tool: Option<&str>, rule: &str| Approval {
        server_id: server.into(),
        tool: tool.map(str::to_owned),
        rule: rule.into(),
        definition_hash: Some("h".into()),
    };
    let policy = LegacyPolicy { server_id: "s".into(), tool: "t".into(), policy: "structured_first".into() };
    store.put_server(row("s", 2)).await.unwrap();
    store.put_server(row("r", 1)).await.unwrap();
    store.put_approval(approval("s", Some("t"), "ask")).await.unwrap();
    store.put_approval(approval("s", Some("t"), "allow_tool")).await.unwrap();
    store.put_approval(approval("s", None, "allow_server")).await.unwrap();
    store.put_approval(approval("r", Some("u"), "never")).await.unwrap();
    store.put_legacy_policy(policy.clone()).await.unwrap();
    store.close().await.unwrap();

    let store = open(dir.path());
    assert_eq!(store.servers().await.unwrap(), [row("r", 1), row("s", 2)]);
    assert_eq!(
        store.approvals().await.unwrap(),
        [
            approval("r", Some("u"), "never"),
            approval("s", None, "allow_server"),
            approval("s", Some("t"), "allow_tool")
        ]
    );
    assert_eq!(store.legacy_policies().await.unwrap(), [policy]);
    // What was found out about one way to reach a server does not change another, nor bring back a server that is gone.
    let other = ServerRow { spec: "{\"a\":1}".into(), era: None, ..row("r", 1) };
    store.put_server(other.clone()).await.unwrap();
    store.put_server_era("r", "{}", Some("old".into())).await.unwrap();
    store.put_server_era("gone", "{}", Some("old".into())).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), [other.clone(), row("s", 2)]);
    store.put_server_era("r", other.spec, Some("new".into())).await.unwrap();
    assert_eq!(store.servers().await.unwrap()[0].era.as_deref(), Some("new"));
    store.delete_approval("s", Some("t".into())).await.unwrap();
    assert_eq!(store.approvals().await.unwrap().len(), 2);
    store.delete_server("s").await.unwrap();
    assert_eq!(store.approvals().await.unwrap(), [approval("r", Some("u"), "never")]);
    store.delete_approval("r", None).await.unwrap();
    assert_eq!(store.approvals().await.unwrap(), []);
    assert_eq!(store.legacy_policies().await.unwrap(), []);
}

#[tokio::test]
async fn models_come_back_in_the_order_of_addition() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let row = |id: &str| ModelRow {
        id: id.into(),
        provider: "Ollama".into(),
        base_url: "http://localhost:11434/v1".into(),
        name: "llama3.2".into(),
        context_tokens: Some(131_072),
        takes_images: false,
        is_demo: false,
    };
    store.put_model(row("z")).await.unwrap();
    store.put_model(row("a")).await.unwrap();
    store.put_model(ModelRow { takes_images: true, ..row("z") }).await.unwrap();
    assert_eq!(store.models().await.unwrap(), [ModelRow { takes_images: true, ..row("z") }, row("a")]);
    store.delete_model("z").await.unwrap();
    assert_eq!(store.models().await.unwrap(), [row("a")]);
}

#[tokio::test]
async fn a_conversation_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_conversation(conversation("c", "first")).await.unwrap();
    store.put_item(item("i", "user", "hello")).await.unwrap();
    store.put_item(ItemRow { seq: 2, ..item("j", "tool_call", "") }).await.unwrap();
    store.put_call(call("k", false)).await.unwrap();
    store.put_payload(payload("h", b"\x00\xff{}")).await.unwrap();
    let fact = |seq| LedgerRow {
        seq,
        at_ms: 6,
        conversation_id: "c".into(),
        call_id: Some("k".into()),
        entry: r#"{"n":1e400}"#.into(),
    };
    assert_eq!(store.next_ledger_seq().await.unwrap(), 1);
    store.append_ledger(vec![fact(1), fact(2)]).await.unwrap();
    store.put_exchange(exchange("e"), Bytes::from_static(b"body")).await.unwrap();
    let outcome = ExchangeOutcome { attempts: 2, outcome: "done".into(), usage: Some("{}".into()) };
    store.finish_exchange("e", outcome).await.unwrap();
    store.close().await.unwrap();

    let store = open(dir.path());
    let heads = store.conversations().await.unwrap();
    assert_eq!(heads, [ConversationHead { row: conversation("c", "first"), message_count: 1 }]);
    assert_eq!(
        store.items("c").await.unwrap(),
        [item("i", "user", "hello"), ItemRow { seq: 2, ..item("j", "tool_call", "") }]
    );
    assert_eq!(store.calls("c").await.unwrap(), [call("k", false)]);
    assert_eq!(store.call("k").await.unwrap(), Some(call("k", false)));
    assert_eq!(store.payloads("c").await.unwrap(), [payload("h", b"\x00\xff{}").row]);
    assert_eq!(store.payload("h").await.unwrap(), Some(payload("h", b"\x00\xff{}").row));
    assert_eq!(store.payload_bytes("h").await.unwrap().as_deref(), Some(&b"\x00\xff{}"[..]));
    assert_eq!(store.ledger("c").await.unwrap(), [fact(1), fact(2)]);
    assert_eq!(store.next_ledger_seq().await.unwrap(), 3);
    let sent = ExchangeRow { attempts: 2, outcome: "done".into(), usage: Some("{}".into()), ..exchange("e") };
    assert_eq!(store.exchanges("c").await.unwrap(), std::slice::from_ref(&sent));
    assert_eq!(store.exchange_body("e").await.unwrap(), Some((sent, Bytes::from_static(b"body"))));
}

#[tokio::test]
async fn a_large_payload_comes_back_whole_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_conversation(conversation("c", "t")).await.unwrap();
    let large: Vec<u8> = (0..5_000_000_u32).map(|it| u8::try_from(it % 251).unwrap()).collect();
    for (handle, bytes) in [("empty", &large[..0]), ("large", &large[..]), ("part", &large[..1 << 20])] {
        store.put_payload(payload(handle, bytes)).await.unwrap();
    }
    for (handle, bytes) in [("empty", &large[..0]), ("large", &large[..]), ("part", &large[..1 << 20])] {
        assert!(store.payload_bytes(handle).await.unwrap().unwrap() == bytes, "{handle}");
    }
    assert_eq!(store.payload_bytes("none").await.unwrap(), None);
    for handle in ["none", "large"] {
        store.delete_payload(handle).await.unwrap();
        assert_eq!(store.payload_bytes(handle).await.unwrap(), None);
    }
}

#[tokio::test]
async fn appended_text_is_there_before_and_after_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_conversation(conversation("c", "t")).await.unwrap();
    store.put_item(ItemRow { streaming: true, ..item("i", "assistant", "So: ") }).await.unwrap();
    for piece in ["one", ", ", "zwei, 三"] {
        store.append_text("i", piece).await.unwrap();
    }
    let streaming = ItemRow { streaming: true, ..item("i", "assistant", "So: one, zwei, 三") };
    assert_eq!(store.items("c").await.unwrap(), std::slice::from_ref(&streaming));
    assert_eq!(store.unfinished().await.unwrap().items, [streaming]);
    assert_eq!(store.search("zwei", 10).await.unwrap(), []);

    store.close_item("i", r#"{"state":"done"}"#).await.unwrap();
    let closed =
        ItemRow { body: r#"{"state":"done"}"#.into(), ..item("i", "assistant", "So: one, zwei, 三") };
    assert_eq!(store.items("c").await.unwrap(), [closed]);
    assert_eq!(store.unfinished().await.unwrap(), Unfinished::default());
    assert_eq!(store.search("zwei", 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn calls_that_ran_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_conversation(conversation("c", "t")).await.unwrap();
    store.put_item(item("i", "tool_call", "")).await.unwrap();
    store.put_call(call("k", true)).await.unwrap();
    store.put_call(CallRow { number: 2, ..call("l", false) }).await.unwrap();
    assert_eq!(store.unfinished().await.unwrap().calls, [call("k", true)]);
}

#[tokio::test]
async fn a_deleted_conversation_leaves_no_byte_and_does_not_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_conversation(conversation("c", "CANARY-title")).await.unwrap();
    store.create_conversation(conversation("d", "stays here")).await.unwrap();
    store.put_item(item("i", "user", "CANARY-message")).await.unwrap();
    store.put_item(ItemRow { streaming: true, ..item("j", "assistant", "") }).await.unwrap();
    store.append_text("j", "CANARY-piece").await.unwrap();
    store.put_call(CallRow { record: "\"CANARY-call\"".into(), ..call("k", true) }).await.unwrap();
    store.put_payload(payload("h", "CANARY-payload".repeat(1000).as_bytes())).await.unwrap();
    store.put_exchange(exchange("e"), Bytes::from_static(b"CANARY-body")).await.unwrap();
    let fact = LedgerRow {
        seq: 1,
        at_ms: 1,
        conversation_id: "c".into(),
        call_id: None,
        entry: "\"CANARY-fact\"".into(),
    };
    store.append_ledger(vec![fact.clone()]).await.unwrap();
    assert!(holds(dir.path(), b"CANARY"), "the canary must be findable before");

    store.delete_conversation("c").await.unwrap();
    assert!(!holds(dir.path(), b"CANARY"));
    assert_eq!(store.search("CANARY", 10).await.unwrap(), []);
    assert_eq!(store.conversations().await.unwrap().len(), 1);

    // Writes that were under way when it was deleted find nothing to belong to.
    assert_eq!(store.update_conversation(conversation("c", "again")).await, Err(StoreError::Gone));
    assert_eq!(store.put_item(item("x", "user", "late")).await, Err(StoreError::Gone));
    assert_eq!(store.append_text("j", "late").await, Err(StoreError::Gone));
    assert_eq!(store.close_item("j", "{}").await, Err(StoreError::Gone));
    assert_eq!(store.put_call(call("k", false)).await, Err(StoreError::Gone));
    assert_eq!(store.put_payload(payload("h", b"late")).await, Err(StoreError::Gone));
    assert_eq!(store.append_ledger(vec![fact]).await, Err(StoreError::Gone));
    assert_eq!(store.conversations().await.unwrap().len(), 1);
}

fn holds(dir: &Path, canary: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        bytes.windows(canary.len()).any(|window| window == canary)
    })
}

#[tokio::test]
async fn search_finds_what_was_shown_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_conversation(conversation("c", "Quarterly numbers")).await.unwrap();
    store.put_item(item("u", "user", "Wie viele Kühe? 100% of_them \"quoted\"")).await.unwrap();
    store
        .put_item(ItemRow { seq: 2, ..item("a", "assistant", "北京的客户很多 and a numbers table") })
        .await
        .unwrap();
    store.put_item(ItemRow { seq: 3, ..item("t", "tool_call", "SECRET numbers") }).await.unwrap();
    store.put_payload(payload("h", b"SECRET numbers")).await.unwrap();

    let find = async |query: &str| {
        let hits = store.search(query, 10).await.unwrap();
        hits.into_iter().map(|hit| hit.item_id.unwrap_or_else(|| "title".into())).collect::<Vec<_>>()
    };
    assert_eq!(find("numbers").await, ["title", "a"]);
    assert_eq!(find("NUMB table").await, ["a"]);
    assert_eq!(find("SECRET").await, [""; 0]);
    assert_eq!(find("kühe").await, ["u"]);
    assert_eq!(find("客户").await, ["a"]);
    assert_eq!(find("0%").await, ["u"]);
    assert_eq!(find("%").await, ["u"]);
    assert_eq!(find("\"quoted\"").await, ["u"]);
    assert_eq!(find("of_them").await, ["u"]);
    for hostile in
        ["\"", "'", "*", "NEAR(", "text:foo", "a OR b", "-", "^x", "\0ab", "''; DROP TABLE item", "\\"]
    {
        find(hostile).await;
    }
    assert_eq!(find("  ").await, [""; 0]);

    // An edit and a removal are followed.
    store.put_item(item("u", "user", "changed")).await.unwrap();
    assert_eq!(find("kühe").await, [""; 0]);
    assert_eq!(find("changed").await, ["u"]);
    store.delete_item("u").await.unwrap();
    assert_eq!(find("changed").await, [""; 0]);
    store.update_conversation(conversation("c", "Renamed")).await.unwrap();
    assert_eq!(find("renamed").await, ["title"]);
    assert_eq!(find("quarterly").await, [""; 0]);
}

#[tokio::test]
async fn a_snippet_shows_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_conversation(conversation("c", "t")).await.unwrap();
    let text = format!("{}\nneedle İ here {}", "x".repeat(200), "y".repeat(200));
    store.put_item(item("u", "user", &text)).await.unwrap();
    let hits = store.search("Needle", 10).await.unwrap();
    let expected = format!("…{} needle İ here {}…", "x".repeat(59), "y".repeat(46));
    assert_eq!(hits[0].snippet, expected);
}
