//! A full disk, a lock, a damaged file, an older and a newer format, a second copy.

use rusqlite::Connection;

use super::*;

async fn started(dir: &Path) -> Store {
    let store = open(dir);
    store.create_conversation(conversation("c", "t")).await.unwrap();
    store
}

async fn healthy(store: &Store) {
    store.health().wait_for(|health| *health == Health::default()).await.unwrap();
}

fn pages(store: &Store, max: &'static str) {
    store.core.writer.between(move |connection| {
        connection.execute_batch(&format!("PRAGMA max_page_count = {max}")).unwrap();
    });
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_recovers_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = started(dir.path()).await;
    pages(&store, "1");
    let big = "x".repeat(100_000);
    let error = store.put_item(item("a", "user", &big)).await.unwrap_err();
    let path = dir.path().join("usher.db");
    assert_eq!(error, StoreError::Disk { trouble: Trouble::Full { path: path.clone() }, kept: true });
    assert!(error.what().ends_with("is full."), "{}", error.what());
    assert!(error.todo().contains("Free some space"));
    // What the user can do again is refused rather than kept.
    let error = store.refusing().put_item(item("b", "user", &big)).await.unwrap_err();
    assert_eq!(error, StoreError::Disk { trouble: Trouble::Full { path: path.clone() }, kept: false });
    // Later writes wait their turn, although they would fit.
    store.append_text("a", " end").await.unwrap_err();
    store.put_setting("after", "1").await.unwrap_err();
    let health = store.health().borrow().clone();
    assert_eq!(health, Health { trouble: Some(Trouble::Full { path }), unwritten: 3 });
    store.close().await.unwrap_err();

    pages(&store, "1000000");
    healthy(&store).await;
    let items = store.items("c").await.unwrap();
    assert_eq!(items.len(), 1);
    store.close_item("a", "{}").await.unwrap();
    assert_eq!(store.items("c").await.unwrap()[0].text, format!("{big} end"));
    assert_eq!(store.setting("after").await.unwrap().as_deref(), Some("1"));
}

#[tokio::test]
async fn a_disk_that_takes_writes_again_is_noticed_although_nothing_waits() {
    let dir = tempfile::tempdir().unwrap();
    let store = started(dir.path()).await;
    let other = Connection::open(dir.path().join("usher.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.refusing().put_item(item("a", "user", "hello")).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Disk { trouble: Trouble::Locked { .. }, kept: false }),
        "{refused}"
    );
    let health = store.health().borrow().clone();
    assert!(health.trouble.is_some() && health.unwritten == 0, "{health:?}");
    other.execute_batch("ROLLBACK").unwrap();
    healthy(&store).await;
}

#[tokio::test]
async fn what_stands_before_a_write_that_does_not_fit_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = started(dir.path()).await;
    let (hold, held) = std::sync::mpsc::channel::<()>();
    store.core.writer.between(move |connection| {
        let used: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.execute_batch(&format!("PRAGMA max_page_count = {}", used + 2)).unwrap();
        held.recv().unwrap();
    });
    let small = store.put_setting("small", "1");
    let large = store.put_item(item("a", "user", &"x".repeat(1_000_000)));
    hold.send(()).unwrap();
    assert_eq!(small.await, Ok(()));
    assert!(matches!(large.await, Err(StoreError::Disk { kept: true, .. })));
    assert_eq!(store.setting("small").await.unwrap().as_deref(), Some("1"));
}

#[tokio::test]
async fn a_lock_of_another_program_is_waited_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = started(dir.path()).await;
    let other = Connection::open(dir.path().join("usher.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.put_item(item("a", "user", "hello")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Disk { trouble: Trouble::Locked { .. }, kept: true }), "{error}");
    assert!(error.safe().contains("Nothing is lost"));
    assert_eq!(store.items("c").await.unwrap(), []);
    other.execute_batch("ROLLBACK").unwrap();
    healthy(&store).await;
    assert_eq!(store.items("c").await.unwrap(), [item("a", "user", "hello")]);
}

#[tokio::test]
async fn a_record_that_cannot_be_stored_does_not_take_its_neighbours_along() {
    let dir = tempfile::tempdir().unwrap();
    let store = started(dir.path()).await;
    let before = store.put_item(item("a", "user", "before"));
    let wrong = store.create_conversation(conversation("c", "twice"));
    let after = store.put_item(ItemRow { seq: 2, ..item("b", "user", "after") });
    before.await.unwrap();
    assert!(matches!(wrong.await, Err(StoreError::Unfit { .. })));
    after.await.unwrap();
    assert_eq!(store.items("c").await.unwrap().len(), 2);
    assert_eq!(*store.health().borrow(), Health::default());
}

#[tokio::test]
async fn a_second_copy_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = started(dir.path()).await;
    let error = Store::open(dir.path(), &quick()).unwrap_err();
    assert_eq!(error, StoreError::InUse { dir: dir.path().to_owned() });
    store.close().await.unwrap();
    let second = open(dir.path());
    assert_eq!(store.put_setting("late", "1").await, Err(StoreError::Closed));
    assert_eq!(second.conversations().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_damaged_file_is_moved_aside() {
    for damage in [
        &b"this is not a database, it is a poem about one"[..],
        &[0xff; 8192],
        b"SQLite format 3\0\x10\0garbage",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("usher.db");
        fs::write(&path, damage).unwrap();
        fs::write(dir.path().join("usher.db.damaged-1"), "an earlier one").unwrap();
        let opened = Store::open(dir.path(), &quick()).unwrap();
        assert_eq!(opened.notices.len(), 1);
        assert!(opened.notices[0].safe.contains("usher.db.damaged-2"), "{:?}", opened.notices);
        assert_eq!(fs::read(dir.path().join("usher.db.damaged-2")).unwrap(), damage);
        assert_eq!(fs::read(dir.path().join("usher.db.damaged-1")).unwrap(), b"an earlier one");
        opened.store.create_conversation(conversation("c", "t")).await.unwrap();
    }
}

#[tokio::test]
async fn a_page_that_was_overwritten_is_found_after_an_unclean_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = started(dir.path()).await;
    for n in 0..200 {
        store.put_item(ItemRow { seq: n, ..item(&format!("i{n}"), "note", &"y".repeat(500)) }).await.unwrap();
    }
    store.close().await.unwrap();
    let path = dir.path().join("usher.db");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xaa);
    fs::write(&path, &bytes).unwrap();
    fs::write(dir.path().join("usher.lock"), "open\n").unwrap();
    let opened = Store::open(dir.path(), &quick()).unwrap();
    assert_eq!(opened.notices.len(), 1);
    assert_eq!(fs::read(dir.path().join("usher.db.damaged-1")).unwrap(), bytes);
}

#[test]
fn a_newer_format_is_refused_and_untouched() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let path = dir.path().join("usher.db");
    let known = open::newest();
    // The thread of the dropped store may still be at its last checkpoint; this waits for it.
    let other = Connection::open(&path).unwrap();
    other.busy_timeout(Duration::from_secs(10)).unwrap();
    other.pragma_update(None, "user_version", known + 1).unwrap();
    drop(other);
    let error = Store::open(dir.path(), &quick()).unwrap_err();
    assert_eq!(error, StoreError::Newer { path: path.clone(), found: known + 1, known });
    assert_eq!(error.safe(), "Nothing was changed.");
    assert!(path.exists());
}

#[tokio::test]
async fn an_older_format_is_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let mut old = Connection::open(dir.path().join("usher.db")).unwrap();
    open::migrate(&mut old, 1).unwrap();
    old.execute_batch(
        "INSERT INTO conversation (id, title, created_ms, updated_ms, mode, model_id, custom)
           VALUES ('c', 'of old', 1, 2, 'chat', 'm', '[]');
         INSERT INTO item (id, conversation_id, seq, at_ms, kind, streaming, body, text)
           VALUES ('u', 'c', 1, 3, 'user', 0, '{}', 'an old question'), ('t', 'c', 2, 3, 'tool_call', 0, '{}', 'old result');
         INSERT INTO payload (handle, conversation_id, audience, format, mime, label, created_ms, size, bytes)
           VALUES ('h', 'c', '', '', 'application/json', 'old value', 3, 2, x'7b7d');",
    )
    .unwrap();
    drop(old);
    let store = open(dir.path());
    let hits = store.search("old", 10).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.item_id.as_deref()).collect::<Vec<_>>(), [None, Some("u")]);
    assert_eq!(store.payload_bytes("h").await.unwrap().as_deref(), Some(&b"{}"[..]));
    store.delete_conversation("c").await.unwrap();
    assert_eq!(store.search("old", 10).await.unwrap(), []);
    assert_eq!(store.payload_bytes("h").await.unwrap(), None);
    store.close().await.unwrap();
    let left: i64 = Connection::open(dir.path().join("usher.db"))
        .unwrap()
        .query_row("SELECT count(*) FROM payload_part", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0, "parts without their payload");
}

#[test]
fn a_folder_that_cannot_be_made_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("data"), &quick()).unwrap_err();
    assert!(
        matches!(&error, StoreError::Disk { trouble: Trouble::Unwritable { .. }, kept: false }),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secrets.json");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (secrets, notices) = Secrets::open(dir.path(), &SecretPlace::File).unwrap();
    assert_eq!(notices, []);
    secrets.set("model/a", Some("sk-CANARY")).unwrap();
    secrets.set("model/b", Some("other")).unwrap();
    secrets.set("model/b", None).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert!(!format!("{secrets:?}").contains("CANARY"));

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (secrets, notices) = Secrets::open(dir.path(), &SecretPlace::File).unwrap();
    assert_eq!(secrets.get("model/a").as_deref(), Some("sk-CANARY"));
    assert!(!secrets.has("model/b"));
    assert!(notices[0].what.starts_with("Other users"));
    assert_eq!(mode(&path), 0o600);

    fs::write(&path, "{ half").unwrap();
    let (secrets, notices) = Secrets::open(dir.path(), &SecretPlace::File).unwrap();
    assert!(!secrets.has("model/a"));
    assert!(notices[0].safe.contains("damaged-1"));
    assert_eq!(fs::read_to_string(dir.path().join("secrets.json.damaged-1")).unwrap(), "{ half");
}

#[cfg(unix)]
#[tokio::test]
async fn the_database_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let store = started(&dir.path().join("data")).await;
    for name in ["usher.db", "usher.db-wal"] {
        let mode = fs::metadata(store.dir().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(store.dir()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn only_what_lasts_waits_for_the_disk() {
    for (lasting, expected) in [(true, 2), (false, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &StoreOptions { lasting, ..quick() }).unwrap().store;
        store.create_conversation(conversation("c", "t")).await.unwrap();
        let (answer, waits) = std::sync::mpsc::channel();
        store.core.writer.between(move |connection| {
            // https://sqlite.org/pragma.html#pragma_synchronous: 0 is OFF, 2 is FULL.
            let care: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
            answer.send(care).unwrap();
        });
        assert_eq!(waits.recv().unwrap(), expected);
        assert_eq!(store.conversations().await.unwrap().len(), 1);
        store.close().await.unwrap();
    }
}
