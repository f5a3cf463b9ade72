//! What the bench shows a View with, as a file that an author keeps beside the View's sources: its input, how its call ends, how the host
//! answers, and what surrounds it. `docs/view-bench.md` describes the format.
//!
//! Values are kept as they were written, with every digit. Deliberately absent: the server's command, which a file that is passed on must
//! not choose, and the View's document, which comes from the server.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use usher_protocol::RawJson;
use uuid::Uuid;

use super::super::{HostError, Surroundings};

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 32 << 20;

/// How many fixtures of the data folder are listed.
const MOST_LISTED: usize = 1_000;

/// The longest name of a fixture, in bytes.
const LONGEST_NAME: usize = 80;

/// What one View is shown with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fixture {
    /// The version of the format.
    pub usher_view_fixture: u32,
    /// The server's name, for people; whoever opens the file may have named it otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// The tool whose View it is.
    pub tool: String,
    /// The tool's arguments, an object.
    #[serde(default = "empty_object")]
    pub input: RawJson,
    /// How the call ends.
    #[serde(default)]
    pub outcome: Ending,
    /// Who answers the View's own calls.
    #[serde(default)]
    pub calls: Answerer,
    /// What its calls are answered with, by the tool's name, when the fixture answers. Each is written as the `outcome` of a result is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, RawJson>,
    /// How the host is slow or fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The policy of its document.
    #[serde(default)]
    pub csp: Policy,
    /// What surrounds it.
    #[serde(default)]
    pub context: Surround,
}

/// How the call of a View ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// It has not ended.
    #[default]
    Waiting,
    /// With what the server sends a View: the value of its own output, or the whole result where the revision knows no audiences.
    Result(RawJson),
    /// With an error, and what the server sends a View with it; `null` where there is nothing.
    Error(Option<RawJson>),
    /// Without a result, for this reason.
    Cancelled(String),
}

/// Who answers the calls that a View makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answerer {
    /// The server, after the usual question to the user.
    #[default]
    Server,
    /// The fixture. A tool without an answer in it is refused.
    Fixture,
}

/// Which content policy the document is served with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// As in a conversation.
    #[default]
    Strict,
    /// Wider, to find out whether the policy is what stops a View.
    Relaxed,
}

/// How the host treats requests of one method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// The method, such as `tools/call`, or `*` for every one that has no fault of its own.
    pub method: String,
    /// How long the answer takes longer, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ms: u32,
    /// The error that is answered in place of a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<Failing>,
}

/// An error of the host that a fixture wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failing {
    /// The JSON-RPC code.
    pub code: i32,
    /// What it says.
    pub message: String,
}

/// What surrounds a View. What is absent is as in the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Surround {
    /// `light` or `dark`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// A BCP 47 tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// A name of the IANA database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// `inline`, `fullscreen` or `pip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_mode: Option<String>,
    /// The frame's width in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// The frame's height in pixels; absent when it follows the View.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Whether it is used with a finger.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub touch: bool,
    /// Pixels at the edges that are covered: top, right, bottom, left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safe_area: Option<[u32; 4]>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn empty_object() -> RawJson {
    json!({}).into()
}

impl Fixture {
    /// A fixture that shows a tool's View as it is while its call runs.
    pub fn of(tool: impl Into<String>) -> Self {
        Self {
            usher_view_fixture: VERSION,
            server: String::new(),
            tool: tool.into(),
            input: empty_object(),
            outcome: Ending::Waiting,
            calls: Answerer::Server,
            answers: BTreeMap::new(),
            faults: Vec::new(),
            csp: Policy::Strict,
            context: Surround::default(),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no fixture, or of a newer version; says why.
    pub fn read(text: &str) -> Result<Self, HostError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            usher_view_fixture: u32,
        }
        let head: Head = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        if head.usher_view_fixture > VERSION {
            return Err(HostError::new(
                format!(
                    "This fixture has version {}, and this Usher reads {VERSION} at most.",
                    head.usher_view_fixture
                ),
                "Nothing was changed.",
                "Use a newer Usher.",
            ));
        }
        let fixture: Self = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        if !fixture.input.is_object() {
            return Err(HostError::new("The input of this fixture is not an object.", SAFE, "Correct it."));
        }
        Ok(fixture)
    }

    /// The text of a file.
    ///
    /// # Errors
    /// JSON could not be written.
    pub fn text(&self) -> Result<String, HostError> {
        let text = serde_json::to_string_pretty(self).map_err(|error| unreadable(&error))?;
        Ok(text + "\n")
    }

    /// How requests of a method are treated.
    pub(super) fn fault(&self, method: &str) -> Option<&Fault> {
        let of = |name: &str| self.faults.iter().find(|it| it.method == name);
        of(method).or_else(|| of("*"))
    }
}

const SAFE: &str = "Nothing was changed.";

fn unreadable(error: &serde_json::Error) -> HostError {
    HostError::new(
        format!("This is not a fixture of a View: {error}."),
        SAFE,
        "See docs/view-bench.md for its form, and correct it.",
    )
}

/// Where a fixture is: a name in the data folder, or the whole path of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place(PathBuf);

impl Place {
    /// Reads what a person wrote. A path ends in `.json`; a name is made of letters, digits and a few signs.
    pub(super) fn of(text: &str, folder: &Path, around: &Surroundings) -> Result<Self, HostError> {
        let path = around.whole(Path::new(text.trim()));
        if path.is_absolute() && text.contains(std::path::is_separator) {
            if path.extension().is_none_or(|it| it != "json") {
                return Err(HostError::new(
                    "The file of a fixture ends in .json.",
                    SAFE,
                    "Give it another name.",
                ));
            }
            return Ok(Self(path));
        }
        let is_good = |it: char| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_' | '.');
        let name = text.trim().trim_end_matches(".json");
        let is_name = !name.is_empty()
            && name.len() <= LONGEST_NAME
            && !name.starts_with('.')
            && name.chars().all(is_good);
        if !is_name {
            return Err(HostError::new(
                format!("{text:?} is neither a name of a fixture nor the path of its file."),
                SAFE,
                "Use letters, digits, spaces, dots, - and _, or a path that ends in .json, such as ./one.json.",
            ));
        }
        Ok(Self(folder.join(format!("{name}.json"))))
    }

    /// Reads the fixture.
    pub(super) async fn read(&self) -> Result<Fixture, HostError> {
        let Self(path) = self;
        let cannot = |error: std::io::Error| {
            HostError::new(
                format!("{} cannot be read: {error}.", path.display()),
                SAFE,
                "Choose another file.",
            )
        };
        let about = tokio::fs::metadata(path).await.map_err(cannot)?;
        if !about.is_file() || about.len() > LARGEST {
            let what = format!("{} is no file, or larger than {} MiB.", path.display(), LARGEST >> 20);
            return Err(HostError::new(what, SAFE, "Choose another file."));
        }
        Fixture::read(&tokio::fs::read_to_string(path).await.map_err(cannot)?)
    }

    /// Writes the fixture, whole or not at all. A file that is no fixture is never written over.
    pub(super) async fn write(&self, fixture: &Fixture) -> Result<(PathBuf, u64), HostError> {
        let Self(path) = self;
        let text = fixture.text()?;
        if tokio::fs::try_exists(path).await.unwrap_or(true) && self.read().await.is_err() {
            return Err(HostError::new(
                format!("{} is there and is no fixture.", path.display()),
                "It was left as it is.",
                "Choose another name.",
            ));
        }
        let cannot = |error: std::io::Error| {
            HostError::new(
                format!("{} cannot be written: {error}.", path.display()),
                "What you see is not lost; it is not on disk yet.",
                "Choose another place.",
            )
        };
        // Two may be saved at once, so each has a file of its own until it is whole.
        let half = path.with_extension(format!("json.{}.part", Uuid::new_v4().simple()));
        let written = async {
            tokio::fs::write(&half, &text).await?;
            tokio::fs::rename(&half, path).await
        };
        if let Err(error) = written.await {
            // What is left of it is of no use; that it cannot be removed either says nothing more.
            drop(tokio::fs::remove_file(&half).await);
            return Err(cannot(error));
        }
        Ok((path.clone(), text.len() as u64))
    }
}

/// The names of the fixtures in a folder, in order.
pub(super) async fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(mut entries) = tokio::fs::read_dir(folder).await else { return names };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let path = entry.path();
        if path.extension().is_some_and(|it| it == "json")
            && let Some(name) = path.file_stem().and_then(|it| it.to_str())
            && names.len() < MOST_LISTED
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{
  "usherViewFixture": 1,
  "server": "Sample",
  "tool": "search",
  "input": {"id": 12345678901234567890},
  "outcome": {
    "result": {"rows": [1.10]}
  },
  "calls": "fixture",
  "answers": {
    "refresh": {"rows": []}
  },
  "faults": [
    {
      "method": "tools/call",
      "delayMs": 2000,
      "fail": {
        "code": -32000,
        "message": "no"
      }
    }
  ],
  "csp": "relaxed",
  "context": {
    "theme": "dark",
    "locale": "de-CH",
    "timeZone": "Europe/Zurich",
    "displayMode": "fullscreen",
    "width": 390,
    "height": 844,
    "touch": true,
    "safeArea": [
      47,
      0,
      34,
      0
    ]
  }
}
"#;

    #[test]
    fn a_file_is_written_as_it_was_read() {
        let fixture = Fixture::read(WHOLE).unwrap();
        assert_eq!(fixture.text().unwrap(), WHOLE);
        let least = Fixture::read(r#"{"usherViewFixture": 1, "tool": "t"}"#).unwrap();
        assert_eq!(least, Fixture::of("t"));
        assert_eq!(Fixture::read(&least.text().unwrap()).unwrap(), least);
    }

    #[test]
    fn each_ending_has_its_form() {
        for (text, ending) in [
            (r#""waiting""#, Ending::Waiting),
            (r#"{"error":null}"#, Ending::Error(None)),
            (r#"{"error":{"a":1}}"#, Ending::Error(Some(json!({"a": 1}).into()))),
            (r#"{"cancelled":"the user stopped it"}"#, Ending::Cancelled("the user stopped it".to_owned())),
        ] {
            assert_eq!(serde_json::from_str::<Ending>(text).unwrap(), ending);
            assert_eq!(serde_json::to_string(&ending).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_fixture_says_why() {
        for (text, why) in [
            ("[]", "not a fixture"),
            (r#"{"tool": "t"}"#, "usherViewFixture"),
            (r#"{"usherViewFixture": 2, "anything": 1}"#, "has version 2"),
            (r#"{"usherViewFixture": 1, "tool": "t", "inputs": {}}"#, "inputs"),
            (r#"{"usherViewFixture": 1, "tool": "t", "input": [1]}"#, "not an object"),
            (r#"{"usherViewFixture": 1, "tool": "t", "csp": "none"}"#, "none"),
        ] {
            let error = Fixture::read(text).unwrap_err();
            assert!(error.what.contains(why), "{text}: {}", error.what);
        }
    }

    #[test]
    fn a_fault_of_its_own_comes_before_that_of_all() {
        let fault = |method: &str| Fault { method: method.to_owned(), delay_ms: 1, fail: None };
        let mut fixture = Fixture::of("t");
        fixture.faults = vec![fault("*"), fault("tools/call")];
        assert_eq!(fixture.fault("tools/call"), Some(&fault("tools/call")));
        assert_eq!(fixture.fault("resources/read"), Some(&fault("*")));
        assert_eq!(Fixture::of("t").fault("tools/call"), None);
    }

    #[test]
    fn a_place_is_a_name_or_a_whole_path() {
        let folder = tempfile::tempdir().unwrap();
        let around = Surroundings {
            home: Some(folder.path().join("home")),
            started_in: Some(folder.path().join("work")),
            ..Surroundings::default()
        };
        let of = |text: &str| Place::of(text, folder.path(), &around).map(|it| it.0);
        assert_eq!(of("dark phone"), Ok(folder.path().join("dark phone.json")));
        assert_eq!(of("dark.json"), Ok(folder.path().join("dark.json")));
        let file = folder.path().join("a.json");
        assert_eq!(of(&file.display().to_string()), Ok(file));
        assert_eq!(of("./a.json"), Ok(folder.path().join("work/a.json")));
        assert_eq!(of("~/a.json"), Ok(folder.path().join("home/a.json")));
        for text in ["", ".", "..", "../a", "a/b", "~", "a\u{0}b", ".hidden", "a:b"] {
            assert!(of(text).is_err(), "{text:?}");
        }
        assert!(of(&folder.path().join("notes.txt").display().to_string()).is_err());
    }

    #[tokio::test]
    async fn a_file_that_is_no_fixture_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("package.json");
        let place = |text: &str| Place::of(text, folder.path(), &Surroundings::default());
        std::fs::write(&precious, "{}").unwrap();
        let is_other = place(&precious.display().to_string()).unwrap();
        assert!(is_other.write(&Fixture::of("t")).await.is_err());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "{}");
        let place = place("one").unwrap();
        let (path, bytes) = place.write(&Fixture::of("t")).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
        place.write(&Fixture::of("u")).await.unwrap();
        assert_eq!(place.read().await.unwrap(), Fixture::of("u"));
        assert_eq!(names(folder.path()).await, ["one", "package"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_saved_twice_at_once_is_whole_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let saves = (0..24).map(|index| {
            let place = Place::of("one", folder.path(), &Surroundings::default()).unwrap();
            tokio::spawn(async move { place.write(&Fixture::of("t".repeat(1 + index * 2_000))).await })
        });
        for save in saves.collect::<Vec<_>>() {
            save.await.unwrap().unwrap();
        }
        let place = Place::of("one", folder.path(), &Surroundings::default()).unwrap();
        assert!(place.read().await.unwrap().tool.starts_with('t'));
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["one.json"]);
    }
}
