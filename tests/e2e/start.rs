//! The window opens on an empty data folder and draws; where there is no display, the program says so.

use std::{fs, process::Command};

use usher_tests::window::{self, Window, colours};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn the_window_opens_and_draws() -> anyhow::Result<()> {
    let window = Window::open().await?;
    assert_eq!(window.client().title().await?, "Usher");
    window
        .until("the page is mounted", async || {
            Ok(window.run("return document.getElementById('app').childElementCount > 0").await? == true)
        })
        .await?;
    // The page is mounted before it is painted.
    window
        .until("the window is not blank", async || Ok(colours(&window.screenshot("start").await?, 8)? > 2))
        .await?;
    window.close().await
}

#[test]
#[ignore = "needs the built window: cargo xtask test --only window"]
fn without_a_display_it_says_so_in_a_sentence_and_leaves_nothing_behind() -> anyhow::Result<()> {
    let folder = tempfile::TempDir::new()?;
    let (data, temporary) = (folder.path().join("data"), folder.path().join("tmp"));
    fs::create_dir(&temporary)?;
    for arguments in [&[][..], &["view", "show", "--", "no-such-server"]] {
        let mut usher = Command::new(window::binary()?);
        usher.args(arguments).env("USHER_DATA_DIR", &data).env("TMPDIR", &temporary);
        let ended = usher.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output()?;
        let said = String::from_utf8(ended.stderr)?;
        assert_eq!(ended.status.code(), Some(3), "{said}");
        assert!(said.starts_with("There is no display") && said.lines().count() == 1, "{said}");
        assert!(!data.exists(), "nothing was opened");
        assert_eq!(fs::read_dir(&temporary)?.count(), 0);
    }
    Ok(())
}
