//! What Views of earlier runs left in the web view's folder: each opening of a View has an origin of its own, so no View finds it again.
//!
//! Deliberately absent: everything that is not a View's; the page keeps its own. Systems whose web view has another layout keep what they
//! have.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::api::serve;

/// Removes it, as far as that works: `storage/<page>/<origin>/` where the file `origin` names a View's (WebKitGTK 2.50).
pub(super) fn remove(web_data: &Path) {
    let origins = folders(&web_data.join("storage")).into_iter().flat_map(|page| folders(&page));
    for origin in origins.filter(|it| is_of_a_view(it)) {
        if let Err(error) = fs::remove_dir_all(&origin) {
            tracing::debug!(%error, "what a View left could not be removed");
        }
    }
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    // A link is none, so that nothing elsewhere is removed.
    entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())).map(|it| it.path()).collect()
}

fn is_of_a_view(origin: &Path) -> bool {
    let scheme = serve::VIEW_SCHEME.as_bytes();
    fs::read(origin.join("origin")).is_ok_and(|it| it.windows(scheme.len()).any(|part| part == scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_views_left_goes_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for (path, origin) in [
            ("storage/p/view", &b"\x05\0\0\0\x01tauri\x09\0\0\0\x01localhost\0\x07\0\0\0\x01mcpview*\0\0\0\x01d7.localhost\0"[..]),
            ("storage/p/page", b"\x05\0\0\0\x01tauri\x09\0\0\0\x01localhost\0\x05\0\0\0\x01tauri\x09\0\0\0\x01localhost\0"),
        ] {
            fs::create_dir_all(at(path).join("LocalStorage")).unwrap();
            fs::write(at(path).join("origin"), origin).unwrap();
        }
        fs::create_dir_all(at("localstorage")).unwrap();
        fs::write(at("storage/salt"), "mcpview").unwrap();
        remove(folder.path());
        assert!(!at("storage/p/view").exists());
        assert!(
            at("storage/p/page/LocalStorage").exists()
                && at("storage/salt").exists()
                && at("localstorage").exists()
        );
        remove(&at("nowhere"));
    }
}
