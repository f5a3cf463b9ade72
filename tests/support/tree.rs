//! The project's own sources, read as text.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A source file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Folders that hold no sources of this project.
const SKIPPED: [&str; 6] = ["node_modules", "target", "dist", "gen", "permissions", ".git"];

/// The root of the project.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every file of the project with one of these endings, in the order of their paths.
///
/// # Panics
/// If the project cannot be read.
pub fn sources(endings: &[&str]) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    collect(&root, &root, endings, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no files ending in {endings:?} under {}", root.display());
    found
}

/// What a document says between `<!-- mark: begin -->` and `<!-- mark: end -->`.
///
/// # Errors
/// When it cannot be read, or has no such place.
pub fn between(document: &str, mark: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(root().join(document))?;
    Ok(parts(&text, document, mark)?.1.to_owned())
}

/// Writes a text into that place of a document.
///
/// # Errors
/// When it cannot be read or written, or has no such place.
pub fn write_between(document: &str, mark: &str, text: &str) -> anyhow::Result<()> {
    let path = root().join(document);
    let old = fs::read_to_string(&path)?;
    let (before, _, after) = parts(&old, document, mark)?;
    fs::write(path, format!("{before}\n\n{}\n\n{after}", text.trim()))?;
    Ok(())
}

/// A document up to and with the mark where a place begins, what is in it, and the rest.
fn parts<'a>(text: &'a str, document: &str, mark: &str) -> anyhow::Result<(&'a str, &'a str, &'a str)> {
    let (begin, end) = (format!("<!-- {mark}: begin -->"), format!("<!-- {mark}: end -->"));
    let from = text.find(&begin).map(|it| it + begin.len());
    let to = text.find(&end);
    let (Some(from), Some(to)) = (from, to) else { anyhow::bail!("{document} has no place called {mark}") };
    anyhow::ensure!(from <= to, "in {document} the place called {mark} ends before it begins");
    Ok((&text[..from], &text[from..to], &text[to..]))
}

fn collect(root: &Path, dir: &Path, endings: &[&str], found: &mut Vec<Source>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            if !SKIPPED.contains(&name.as_str()) && !name.starts_with("target-") {
                collect(root, &path, endings, found);
            }
        } else if endings.iter().any(|it| name.ends_with(it)) {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            found.push(Source { path, text });
        }
    }
}

impl Source {
    /// Its lines without comments, with their numbers.
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        numbered.filter(|(_, line)| {
            let line = line.trim_start();
            !line.starts_with("//") && !line.starts_with('*') && !line.starts_with("/*")
        })
    }

    /// Its lines before the tests that stand at its end.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests_at = self.text.lines().position(|it| it.trim() == "#[cfg(test)]").unwrap_or(usize::MAX);
        self.code_lines().take_while(move |(number, _)| *number <= tests_at)
    }
}

/// Every test as `file::name` in Rust, and `file: title` in TypeScript, where the file is its last name without an ending.
///
/// # Panics
/// If the sources cannot be read.
pub fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in sources(&[".rs"]) {
        let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        let mut is_test = false;
        for line in file.text.lines().map(str::trim) {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))
                && std::mem::take(&mut is_test)
            {
                found.insert(format!("{stem}::{}", rest.split('(').next().unwrap_or_default()));
            }
        }
    }
    for file in sources(&[".test.ts"]) {
        let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".test.ts");
        for title in file.text.split("it(\"").skip(1).filter_map(|it| it.split('"').next()) {
            found.insert(format!("{stem}: {title}"));
        }
    }
    found
}
