//! Rules about the sources themselves, each with its reason. They read text only, so they are fast and know no more than they see.

use std::collections::BTreeSet;

use usher_tests::tree::{Source, root, sources};

/// Fails with all findings at once.
#[track_caller]
fn none(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{rule}\n  {}", findings.join("\n  "));
}

fn rust() -> Vec<Source> {
    sources(&[".rs"])
}

fn ui() -> Vec<Source> {
    sources(&[".ts", ".svelte"]).into_iter().filter(|it| it.path.starts_with("ui/src/")).collect()
}

/// Where lines of these files that satisfy a condition stand.
fn lines_where(files: &[Source], condition: impl Fn(&Source, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.code_lines().filter(|(_, line)| condition(file, line)) {
            found.push(format!("{}:{number}: {}", file.path, line.trim()));
        }
    }
    found
}

/// The crates and folders that may not be named under a folder.
#[test]
fn dependencies_point_one_way() {
    // protocol ← engine ← host ← api ← desktop | cli; protocol ← server ← the sample server, which know no host; and both ← conformance.
    let forbidden: [(&str, &[&str]); 7] = [
        (
            "src-tauri/crates/protocol/",
            &["usher_engine", "usher_host", "usher_server", "usher_sample_server", "usher::", "tokio"],
        ),
        ("src-tauri/crates/engine/", &["usher_host", "usher_server", "usher_sample_server", "usher::"]),
        (
            "src-tauri/crates/host/",
            &["usher_server", "usher_sample_server", "usher_conformance", "usher::", "tauri::"],
        ),
        ("src-tauri/crates/server/", &["usher_engine", "usher_host", "usher_sample_server", "usher::"]),
        ("src-tauri/crates/sample-server/", &["usher_engine", "usher_host", "usher::"]),
        ("src-tauri/crates/conformance/", &["usher_sample_server", "usher_host::conversation", "usher::"]),
        ("src-tauri/src/api", &["crate::desktop", "crate::cli", "super::desktop", "super::cli"]),
    ];
    let found = lines_where(&rust(), |file, line| {
        forbidden.iter().any(|(folder, names)| {
            file.path.starts_with(folder) && names.iter().any(|name| names_it(line, name))
        })
    });
    none("a crate names one that it must not know", found);
}

/// Whether a line names a path, not merely a longer word.
fn names_it(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        let in_word = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
        !in_word(before) && (name.ends_with(':') || !in_word(after))
    })
}

/// Decisions depend on their arguments only, so that each can be repeated and explained.
#[test]
fn the_engine_is_pure() {
    const IMPURE: [&str; 10] = [
        "tokio",
        "std::fs",
        "std::env",
        "std::time",
        "SystemTime",
        "Instant",
        "std::net",
        "std::process",
        "uuid",
        "rand",
    ];
    let engine: Vec<Source> =
        rust().into_iter().filter(|it| it.path.starts_with("src-tauri/crates/engine/src/")).collect();
    none(
        "the engine names the world",
        lines_where(&engine, |_, line| IMPURE.iter().any(|it| names_it(line, it))),
    );
    let manifest = std::fs::read_to_string(root().join("src-tauri/crates/engine/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    none(
        "the engine depends on the world",
        IMPURE.iter().filter(|it| names_it(dependencies, it)).map(|it| (*it).to_owned()).collect(),
    );
}

/// Only `conversation` composes the parts of the host.
#[test]
fn the_parts_of_the_host_do_not_know_each_other() {
    const PARTS: [&str; 6] = ["connection", "model", "script", "app_view", "store", "payload"];
    const HOST: &str = "src-tauri/crates/host/src/";
    let found = lines_where(&rust(), |file, line| {
        let Some(inside) = file.path.strip_prefix(HOST) else { return false };
        let part = inside.split(['/', '.']).next().unwrap_or_default();
        PARTS.contains(&part)
            && PARTS.iter().filter(|other| **other != part).any(|other| {
                [format!("crate::{other}"), format!("super::{other}::")]
                    .iter()
                    // `super` of a part's own folder is the part, whose modules may have the name of another part.
                    .any(|path| names_it(line, path) && (path.starts_with("crate") || !inside.contains('/')))
            })
    });
    none("a part of the host names another; only `conversation` may", found);
    let composed = lines_where(&rust(), |file, line| {
        file.path.strip_prefix(HOST).is_some_and(|inside| {
            PARTS.contains(&inside.split(['/', '.']).next().unwrap_or_default())
                && names_it(line, "crate::conversation")
        })
    });
    none("a part of the host names `conversation`, which stands above it", composed);
}

/// The window is one door; everything behind it runs and is tested without it.
#[test]
fn one_folder_knows_tauri_and_one_file_its_page() {
    let found = lines_where(&rust(), |file, line| {
        let allowed = ["src-tauri/src/desktop", "src-tauri/build.rs", "src-tauri/xtask/", "tests/"];
        !allowed.iter().any(|it| file.path.starts_with(it))
            && (names_it(line, "tauri::") || names_it(line, "tauri_build"))
    });
    none("tauri is named outside src-tauri/src/desktop", found);
    let found = lines_where(&ui(), |file, line| {
        line.contains("@tauri-apps/") && file.path != "ui/src/platform/tauri.ts"
    });
    none("@tauri-apps is named outside ui/src/platform/tauri.ts", found);
}

/// A feature of the page that imports another cannot be read, tested or removed alone.
#[test]
fn features_of_the_page_do_not_import_each_other() {
    let found = lines_where(&ui(), |file, line| {
        let Some(inside) = file.path.strip_prefix("ui/src/features/") else { return false };
        let own = inside.split('/').next().unwrap_or_default();
        let Some(target) = import_target(line) else { return false };
        feature_of(&file.path, target).is_some_and(|feature| feature != own)
    });
    none("a feature imports another", found);
}

fn import_target(line: &str) -> Option<&str> {
    let is_import =
        line.contains(" from ") || line.trim_start().starts_with("import") || line.contains("import(");
    let after = ["from \"", "import \"", "import(\""].iter().find_map(|it| line.split_once(it))?.1;
    is_import.then(|| after.split('"').next())?
}

/// The feature that an import of a file reaches, if it reaches one.
fn feature_of(path: &str, target: &str) -> Option<String> {
    let mut place: Vec<&str> = path.split('/').collect();
    place.pop();
    let full = if let Some(rest) =
        target.strip_prefix("$features/").or_else(|| target.strip_prefix("@/features/"))
    {
        format!("ui/src/features/{rest}")
    } else if target.starts_with('.') {
        for step in target.split('/') {
            match step {
                "." => {}
                ".." => drop(place.pop()),
                name => place.push(name),
            }
        }
        place.join("/")
    } else {
        return None;
    };
    full.strip_prefix("ui/src/features/")?.split('/').next().map(str::to_owned)
}

/// The revision decides shapes in the codec and the opening of a connection; a date anywhere else is a second place that decides.
#[test]
fn dates_of_revisions_stand_in_one_file() {
    // Put together here, so that this file does not find itself.
    let dates: Vec<String> = ["2025-03", "2025-06", "2025-11", "2026-07", "2026-12"]
        .iter()
        .zip(["26", "18", "25", "28", "01"])
        .map(|(month, day)| format!("{month}-{day}"))
        .collect();
    let mut found = Vec::new();
    for file in rust().iter().filter(|it| it.path.starts_with("src-tauri/")) {
        let is_allowed = ["/protocol/src/revision.rs", "/protocol/src/rule.rs"].iter().any(|it| file.path.ends_with(it))
                || file.path.contains("/tests/")
                || file.path.ends_with("/tests.rs")
                // The names of the official suite's sets, which decide nothing here.
                || file.path == "src-tauri/xtask/src/conformance.rs";
        if is_allowed {
            continue;
        }
        for (number, line) in file.product_lines() {
            // Documentation and comments may name a revision; a string literal decides.
            let code = line.split("//").next().unwrap_or_default();
            if dates.iter().any(|date| code.contains(&format!("\"{date}\""))) {
                found.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none("the date of a revision as a literal outside protocol/src/revision.rs", found);
}

/// A parser of command lines has a `Command` too, and only Unix has `sh`.
fn starts_process(line: &str) -> bool {
    line.contains("Command::new(") && !line.contains("clap::") && !line.contains("Command::new(\"sh\")")
}

/// On Windows a process without this flag opens a console, which covers the window and can hold it up.
#[test]
fn every_process_of_the_product_is_started_without_a_console() {
    let mut found = Vec::new();
    let product = |it: &Source| it.path.starts_with("src-tauri/") && !it.path.starts_with("src-tauri/xtask/");
    for file in rust().into_iter().filter(|it| product(it) && !it.path.contains("/tests/")) {
        // A shell that only Unix has, in a module that only Unix has; and what a tree starts, it starts without a console.
        if file.path.ends_with("/watchdog.rs") || file.text.contains("ProcessTree::start(command)") {
            continue;
        }
        let lines: Vec<&str> = file.product_lines().map(|it| it.1).collect();
        for (at, line) in lines.iter().enumerate().filter(|it| starts_process(it.1)) {
            let end = lines[at..].iter().position(|it| *it == "}").map_or(lines.len(), |it| at + it);
            let is_quiet = |it: &&str| it.contains("detach(&mut ") || it.contains("creation_flags(&mut ");
            if !lines[at..end].iter().any(is_quiet) {
                found.push(format!("{}: {}", file.path, line.trim()));
            }
        }
    }
    none("a process that may open a console", found);
}

/// Long files hide their structure.
#[test]
fn files_are_short() {
    const LONGEST: usize = 700;
    let files = sources(&[".rs", ".ts", ".svelte"]);
    let found = files.iter().filter(|it| !it.path.contains("/bindings/"));
    let found = found.map(|it| (it, it.text.lines().count())).filter(|it| it.1 > LONGEST);
    none(
        "files of more than 700 lines",
        found.map(|(file, lines)| format!("{}: {lines}", file.path)).collect(),
    );
    let modules = files.iter().filter(|it| it.path.ends_with("/mod.rs"));
    none(
        "mod.rs says nothing about what it holds; name the file",
        modules.map(|it| it.path.clone()).collect(),
    );
}

/// A test that is not run, and a place where nothing was written yet, both look like work that was done.
#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let words: Vec<String> = [
        ("#[ig", "nore"),
        ("to", "do!("),
        ("unimple", "mented!("),
        ("TO", "DO"),
        ("FIX", "ME"),
        ("#[al", "low("),
    ]
    .iter()
    .map(|(a, b)| format!("{a}{b}"))
    .collect();
    let mut found = Vec::new();
    for file in sources(&[".rs", ".ts", ".svelte"]).iter().filter(|it| !it.path.contains("/bindings/")) {
        for (number, line) in file.text.lines().enumerate() {
            // The child of another test is run by it, and the window's tests by their own layer.
            // The survey is a command of its own, and changes a document.
            let is_run = line.contains("child")
                || line.contains("next test")
                || line.contains("cargo xtask survey")
                || file.path.starts_with("tests/e2e/");
            let is_left =
                words.iter().enumerate().any(|(n, it)| line.contains(it.as_str()) && !(n == 0 && is_run));
            if is_left {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    let skipped = lines_where(&ui(), |_, line| {
        [".sk", ".on"]
            .iter()
            .zip(["ip(", "ly("])
            .any(|(a, b)| ["it", "test", "describe"].iter().any(|it| line.contains(&format!("{it}{a}{b}"))))
    });
    found.extend(skipped);
    none("left for later", found);
}

/// Which registry a machine uses is that machine's matter.
#[test]
fn no_host_of_a_package_registry_is_named() {
    let hosts: Vec<String> = [
        ("registry.npm", "js.org"),
        ("registry.npm", "mirror.com"),
        ("registry.yarn", "pkg.com"),
        ("pypi.", "org"),
        ("files.python", "hosted.org"),
        ("static.crates", ".io"),
        ("index.crates", ".io"),
        ("proxy.golang", ".org"),
    ]
    .iter()
    .map(|(a, b)| format!("{a}{b}"))
    .collect();
    let mut found = Vec::new();
    let endings =
        [".rs", ".ts", ".svelte", ".toml", ".json", ".md", ".py", ".sh", ".lock", ".npmrc", ".yaml", ".yml"];
    for file in sources(&endings) {
        for (number, line) in file.text.lines().enumerate() {
            if hosts.iter().any(|it| line.contains(it.as_str())) {
                found.push(format!("{}:{}", file.path, number + 1));
            }
        }
    }
    none("the host of a package registry", found);
}

/// Where a reader begins.
#[test]
fn the_documents_are_there_and_name_what_is_there() {
    let mut found = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"] {
        if !root().join(name).is_file() {
            found.push(format!("{name} is missing"));
        }
    }
    for document in sources(&[".md"]).iter().filter(|it| !it.path.contains('/')) {
        let links = document.text.split("](").skip(1).filter_map(|it| it.split(')').next());
        for link in links.filter(|it| !it.contains("://") && !it.starts_with('#')) {
            let target = link.split('#').next().unwrap_or_default();
            if !root().join(target).exists() {
                found.push(format!("{} links to {link}, which is not there", document.path));
            }
        }
    }
    none("documents", found);
}

/// Module documentation says what a file is for, and what is deliberately absent.
#[test]
fn every_module_of_the_product_says_what_it_is_for() {
    let silent: BTreeSet<String> = rust()
        .into_iter()
        .filter(|it| {
            it.path.contains("/src/")
                && !it.path.contains("/tests/")
                && !it.text.trim_start().starts_with("//!")
        })
        .map(|it| it.path)
        .collect();
    none("files without a first line of documentation", silent.into_iter().collect());
}
