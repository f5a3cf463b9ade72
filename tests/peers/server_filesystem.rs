//! `@modelcontextprotocol/server-filesystem`: real files in a folder of the test.

use expect_test::expect;
use serde_json::json;

use super::{Turn, offered, stage};

#[tokio::test]
async fn files_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let path = |name: &str| root.join(name).to_string_lossy().into_owned();
    std::fs::write(root.join("a.txt"), "first\nsecond\n").unwrap();
    std::fs::write(root.join("b.txt"), "beside\n").unwrap();
    std::fs::write(root.join("old.txt"), "to be moved").unwrap();
    let pixel = usher_tests::canaries::from_base64(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    );
    std::fs::write(root.join("pixel.png"), pixel).unwrap();
    let stage = stage("@modelcontextprotocol/server-filesystem", &[root.to_str().unwrap()]).await;
    let here = root.to_string_lossy().into_owned();
    let turn = Turn::play(
        stage,
        vec![
            ("read_file", json!({"path": path("a.txt")})),
            ("read_text_file", json!({"path": path("a.txt"), "head": 1})),
            ("read_media_file", json!({"path": path("pixel.png")})),
            ("read_multiple_files", json!({"paths": [path("a.txt"), path("b.txt")]})),
            ("write_file", json!({"path": path("new.txt"), "content": "written"})),
            (
                "edit_file",
                json!({"path": path("b.txt"), "edits": [{"oldText": "beside", "newText": "edited"}]}),
            ),
            ("create_directory", json!({"path": path("sub")})),
            ("list_directory", json!({"path": here})),
            ("list_directory_with_sizes", json!({"path": here})),
            ("directory_tree", json!({"path": here})),
            ("move_file", json!({"source": path("old.txt"), "destination": path("moved.txt")})),
            ("search_files", json!({"path": here, "pattern": "a.txt"})),
            ("get_file_info", json!({"path": path("a.txt")})),
            ("list_allowed_directories", json!({})),
        ],
    )
    .await;
    expect![[r#"
        create_directory
        directory_tree
        edit_file
        get_file_info
        list_allowed_directories
        list_directory
        list_directory_with_sizes
        move_file
        read_file
        read_media_file
        read_multiple_files
        read_text_file
        search_files
        write_file"#]]
    .assert_eq(&offered(&turn).join("\n"));
    assert_eq!(turn.not_done(), Vec::<String>::new());
    assert_eq!(turn.complaints(), Vec::<String>::new());
    assert!(turn.told("read_file").contains("second"));
    assert!(!turn.told("read_text_file").contains("second"));
    assert!(
        turn.told("read_multiple_files").contains("beside")
            || turn.told("read_multiple_files").contains("edited")
    );
    assert_eq!(std::fs::read_to_string(root.join("new.txt")).unwrap(), "written");
    assert_eq!(std::fs::read_to_string(root.join("b.txt")).unwrap(), "edited\n");
    assert!(root.join("moved.txt").is_file() && root.join("sub").is_dir());
    // The bytes of a picture are for eyes.
    assert!(!turn.told("read_media_file").contains("iVBORw0KGgo"), "{}", turn.told("read_media_file"));
    assert!(turn.seen().await.contains("iVBORw0KGgo"));
}

#[tokio::test]
async fn a_refusal_is_told_to_the_model_and_the_turn_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage("@modelcontextprotocol/server-filesystem", &[folder.path().to_str().unwrap()]).await;
    let turn = Turn::play(stage, vec![("read_text_file", json!({"path": "/there/is/no/such/file"}))]).await;
    assert_eq!(turn.call("read_text_file").state.word(), "tool_error");
    assert!(turn.told("read_text_file").contains("denied"), "{}", turn.told("read_text_file"));
}
