//! A kill at any moment loses nothing that was acknowledged: this binary runs itself as the one that is killed.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use super::*;

const DIR: &str = "USHER_TEST_KILL_DIR";

/// Not a test of its own: what [`killed_at_any_moment`] starts and kills.
#[tokio::test]
#[ignore = "runs only as the child of another test"]
async fn child_that_writes_until_killed() {
    let Some(dir) = env::var_os(DIR) else { return };
    let store = open(Path::new(&dir));
    let run = store.conversations().await.unwrap().len();
    let conversation_id = format!("c{run}");
    store.create_conversation(conversation(&conversation_id, "t")).await.unwrap();
    let streaming = |id: &str, seq| ItemRow {
        conversation_id: conversation_id.clone(),
        seq,
        streaming: true,
        ..item(id, "assistant", "")
    };
    let mut out = std::io::stdout();
    for turn in 0.. {
        let id = format!("{conversation_id}-{turn}");
        store.put_item(streaming(&id, turn)).await.unwrap();
        for n in 0..40 {
            let piece = format!("{n};");
            store.append_text(&*id, &*piece).await.unwrap();
            writeln!(out, "ack {id} {piece}").unwrap();
        }
        store.close_item(&*id, r#"{"state":"done"}"#).await.unwrap();
        writeln!(out, "done {id}").unwrap();
    }
}

#[tokio::test]
async fn killed_at_any_moment() {
    let dir = tempfile::tempdir().unwrap();
    let mut seed = 0x9e37_79b9_u32;
    for round in 0..20 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let acks_before_the_kill = seed >> 16 & 0x7f;
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "store::tests::kill::child_that_writes_until_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(DIR, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
        let mut said = Vec::new();
        let mut acks = 0;
        while acks <= acks_before_the_kill {
            let line = lines.next().expect("the child writes until it is killed");
            acks += u32::from(line.contains("ack "));
            said.push(line);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it acknowledged between our decision and its end counts too; a last line may be cut.
        said.extend(lines);
        said.retain(|line| line.ends_with(';') || line.starts_with("done "));
        assert!(said.iter().any(|line| line.contains("ack ")), "round {round}: {said:?}");

        let store = open(dir.path());
        check_all_there(&store, &format!("c{round}"), &said).await;
        // The conversation can go on.
        for left in store.unfinished().await.unwrap().items {
            store.close_item(left.id, r#"{"state":"broken"}"#).await.unwrap();
        }
        assert_eq!(store.conversations().await.unwrap().len(), round + 1);
        store.close().await.unwrap();
    }
}

async fn check_all_there(store: &Store, conversation_id: &str, said: &[String]) {
    let items = store.items(conversation_id).await.unwrap();
    let find = |id: &str| items.iter().find(|item| item.id == id).unwrap_or_else(|| panic!("{id} is lost"));
    let mut shown: std::collections::BTreeMap<&str, String> = std::collections::BTreeMap::new();
    for line in said {
        if let Some((id, piece)) = line.split("ack ").nth(1).and_then(|ack| ack.split_once(' ')) {
            shown.entry(id).or_default().push_str(piece);
        } else if let Some(id) = line.strip_prefix("done ") {
            assert!(!find(id).streaming, "{id} was closed");
        }
    }
    for (id, text) in shown {
        let stored = &find(id).text;
        assert!(stored.starts_with(&text), "{id}: shown {text:?}, stored {stored:?}");
        // At most one piece was written but not yet acknowledged.
        assert!(
            stored.matches(';').count() <= text.matches(';').count() + 1,
            "{id}: {stored:?} against {text:?}"
        );
    }
}
