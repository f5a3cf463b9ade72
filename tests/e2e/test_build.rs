//! What is for tests alone is in the test build alone: neither the page of the product nor its program has it.

use std::{fs, path::Path};

use anyhow::Context as _;
use memchr::memmem;
use tempfile::TempDir;
use usher_tests::{
    host_interface::HostInterface,
    tree::root,
    window::{Options, Window, binary, test_build},
};

/// The interface by which a page can be driven.
const INTERFACE: &str = "usherHostTest";
/// What names the file for the key of the page.
const KEY_FILE: &str = "USHER_TEST_KEY_FILE";
/// What names a server to which a name of the internet leads.
const NETWORK: &str = "USHER_TEST_NETWORK";

/// Whether any file below a folder has some words. How many files were read comes with it.
fn said_below(folder: &Path, words: &str) -> anyhow::Result<(bool, usize)> {
    let (mut said, mut read) = (false, 0);
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            let below = said_below(&path, words)?;
            (said, read) = (said || below.0, read + below.1);
        } else {
            said |= memmem::find(&fs::read(&path)?, words.as_bytes()).is_some();
            read += 1;
        }
    }
    Ok((said, read))
}

#[test]
#[ignore = "needs the built window: cargo xtask test --only window"]
fn the_product_has_nothing_that_is_for_tests_alone() -> anyhow::Result<()> {
    let tests = test_build()?;
    let page = tests.parent().context("the test build has a folder")?.join("page");
    for words in [INTERFACE, "displayTestApp"] {
        // The same look finds it where it is.
        assert!(said_below(&page, words)?.0, "{words} is not in {}", page.display());
        let (said, read) = said_below(&root().join("ui/dist"), words)?;
        assert!(!said && read > 5, "{words} in one of {read} files of the product's page");
    }
    // In the program the page is compressed; the words of Rust stand as they are.
    let (tests, product) = (fs::read(tests)?, fs::read(binary()?)?);
    for words in [KEY_FILE, NETWORK] {
        assert!(memmem::find(&tests, words.as_bytes()).is_some(), "the look does not find {words}");
        assert!(memmem::find(&product, words.as_bytes()).is_none(), "the product knows {words}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn the_window_of_the_product_cannot_be_driven_and_writes_no_key() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("key");
    let env = vec![(KEY_FILE.to_owned(), file.display().to_string())];
    let window = Window::open_with(Options { data_dir: None, env: env.clone() }).await?;
    window.element("[data-testid=composer-input]").await?;
    assert_eq!(window.run(&format!("return '{INTERFACE}' in window")).await?, false);
    assert!(!file.exists(), "the product has written its key");
    window.close().await?;

    let window = Window::open_test_build(Options { data_dir: None, env }).await?;
    HostInterface::of(&window).await?;
    assert!(file.is_file(), "the test build has written no key");
    window.close().await
}
