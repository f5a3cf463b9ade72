//! The names under which tools are offered to models.
//!
//! One rule is within what each provider takes: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`. A name is the server's slug, two underscores and the
//! tool's own name; when that is not legal, too long or taken, it is cut and given a hash of what it stands for. Deliberately absent: any
//! way from an unknown name to a tool that looks like it.

use std::{collections::BTreeMap, sync::Arc};

use sha2::{Digest, Sha256};

use super::{HostText, wire::hex};

/// The longest name that every provider accepts, in bytes.
pub const MAX_WIRE_NAME: usize = 64;

/// The names of one conversation. A tool keeps its name as long as the map lives, so that the model and provider caches stay right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolNames {
    by_wire: BTreeMap<Arc<str>, ToolRef>,
    by_tool: BTreeMap<ToolRef, Arc<str>>,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolRef {
    /// The server's id.
    pub server_id: Arc<str>,
    /// The name that calls use.
    pub tool: Arc<str>,
}

impl ToolNames {
    /// The name of a tool; a new tool is given one. `server_name` is the server's name for people.
    pub fn name(&mut self, server_id: &str, server_name: &str, tool: &str) -> Arc<str> {
        let tool_ref = ToolRef { server_id: server_id.into(), tool: tool.into() };
        if let Some(name) = self.by_tool.get(&tool_ref) {
            return name.clone();
        }
        let plain = format!("{}__{tool}", slug(server_name));
        let legal = legalise(&plain);
        let is_own = |it: &str| it == HostText::RunScriptName.text();
        let name = if legal == plain && !is_own(&legal) && !self.by_wire.contains_key(legal.as_str()) {
            legal
        } else {
            self.hashed(&legal, &tool_ref)
        };
        let name: Arc<str> = name.into();
        self.insert(name.clone(), tool_ref);
        name
    }

    /// Takes back a name that was given in an earlier run of the application. A name that is not legal or is taken is ignored.
    pub fn restore(&mut self, wire_name: &str, tool: ToolRef) {
        if is_legal(wire_name) && !self.by_wire.contains_key(wire_name) && !self.by_tool.contains_key(&tool) {
            self.insert(wire_name.into(), tool);
        }
    }

    /// The tool that a model means. Only exact names count.
    pub fn resolve(&self, wire_name: &str) -> Option<&ToolRef> {
        self.by_wire.get(wire_name)
    }

    /// Every name and its tool, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ToolRef)> {
        self.by_wire.iter().map(|(name, tool)| (&**name, tool))
    }

    fn insert(&mut self, name: Arc<str>, tool: ToolRef) {
        self.by_wire.insert(name.clone(), tool.clone());
        self.by_tool.insert(tool, name);
    }

    fn hashed(&self, legal: &str, tool: &ToolRef) -> String {
        let head = &legal[..legal.len().min(55)];
        let mut round = 0u32;
        loop {
            let mut hash = Sha256::new();
            hash.update(tool.server_id.as_bytes());
            hash.update([0]);
            hash.update(tool.tool.as_bytes());
            if round > 0 {
                hash.update(round.to_be_bytes());
            }
            let digest = hex(&hash.finalize());
            let name = format!("{head}_{}", &digest[..8]);
            if !self.by_wire.contains_key(name.as_str()) {
                return name;
            }
            round += 1;
        }
    }
}

/// Whether every provider accepts the name.
pub fn is_legal(name: &str) -> bool {
    let rest = |it: &str| it.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    name.len() <= MAX_WIRE_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && rest(name)
}

/// A server's name in lower case, with runs of everything else made one underscore; at most 24 bytes.
fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '-' {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('_') && !out.is_empty() {
            out.push('_');
        }
    }
    out.truncate(24);
    let slug = out.trim_end_matches('_');
    if slug.starts_with(|c: char| c.is_ascii_alphabetic()) { slug.to_owned() } else { format!("s_{slug}") }
}

/// The name with what is not legal replaced, cut to the longest length.
fn legalise(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    name.chars().map(legal).take(MAX_WIRE_NAME).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn names_are_legal_stable_and_distinct() {
        let mut names = ToolNames::default();
        let long = "x".repeat(90);
        let asked = [
            ("1", "Sample", "search_customers"),
            ("1", "Sample", "a.b"),
            ("1", "Sample", "a/b"),
            ("1", "Sample", "a_b"),
            ("2", "sample", "search_customers"),
            ("3", "3D Übersicht!", "größe ändern"),
            ("4", "", ""),
            ("5", "日本", "検索"),
            ("6", "A server with quite a long name of its own", &long),
        ];
        let given: Vec<_> = asked.iter().map(|(id, server, tool)| names.name(id, server, tool)).collect();
        let again: Vec<_> =
            asked.iter().rev().map(|(id, server, tool)| names.name(id, server, tool)).rev().collect();
        assert_eq!(given, again);
        for (name, (id, _, tool)) in given.iter().zip(asked) {
            assert!(is_legal(name), "{name}");
            let found = names.resolve(name).unwrap();
            assert_eq!((&*found.server_id, &*found.tool), (id, tool));
        }
        expect![[r#"
            sample__search_customers
            sample__a_b_d304bc3a
            sample__a_b_d122866d
            sample__a_b
            sample__search_customers_7fb408b7
        "#]]
        .assert_eq(&given[..5].iter().map(|it| format!("{it}\n")).collect::<String>());
    }

    #[test]
    fn only_exact_names_resolve() {
        let mut names = ToolNames::default();
        names.name("1", "Sample", "search");
        for unknown in ["search", "sample__searc", "SAMPLE__SEARCH", "sample__search ", ""] {
            assert_eq!(names.resolve(unknown), None);
        }
    }

    #[test]
    fn names_of_an_earlier_run_are_kept() {
        let mut names = ToolNames::default();
        names.restore("old__name", ToolRef { server_id: "1".into(), tool: "search".into() });
        names.restore("not legal", ToolRef { server_id: "1".into(), tool: "other".into() });
        assert_eq!(&*names.name("1", "Renamed", "search"), "old__name");
        assert_eq!(&*names.name("1", "Renamed", "other"), "renamed__other");
    }
}
