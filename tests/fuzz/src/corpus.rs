//! What servers really sent: messages of the specification's schemas and of public reports, in `tests/data/fuzz-corpus`.

use std::{path::PathBuf, sync::OnceLock};

use crate::Target;

/// A kept case: the name of its file and its bytes.
pub type Kept = (String, Vec<u8>);

/// The folder.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/fuzz-corpus"))
}

/// What is kept for a target, in the order of the names. Never empty.
pub fn of(target: Target) -> &'static [Kept] {
    static ALL: [OnceLock<Vec<Kept>>; 4] = [const { OnceLock::new() }; 4];
    let place = Target::ALL.iter().position(|it| *it == target).unwrap_or(0);
    ALL[place].get_or_init(|| {
        let mut kept = Vec::new();
        for entry in std::fs::read_dir(folder().join(target.name())).into_iter().flatten().flatten() {
            if let Ok(bytes) = std::fs::read(entry.path()) {
                kept.push((entry.file_name().to_string_lossy().into_owned(), bytes));
            }
        }
        kept.sort();
        if kept.is_empty() {
            kept.push(("nothing".to_owned(), b"{}".to_vec()));
        }
        kept
    })
}
