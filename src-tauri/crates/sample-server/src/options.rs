//! The switches of the sample server: one for each defect, so that a test or a person can see what a host does about it.

use std::net::SocketAddr;

use clap::Args;
use usher_protocol::Revision;

/// How the sample server behaves. The default is a server without defects that speaks every revision.
#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// Put a unique string into every variant, `_meta` and schema, ending in this seed
    #[arg(long, value_name = "SEED")]
    pub canaries: Option<String>,
    /// The tool that has the defects of declarations and outputs; `*` for all of them
    #[arg(long = "on", value_name = "TOOL", default_value = "search_customers")]
    pub on: Target,
    /// Serve over HTTP instead, at this address; the one that was taken is printed
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub http: Option<SocketAddr>,
    /// Offer what the official conformance suite asks for, instead of the sales team
    #[arg(long)]
    pub conformance_fixtures: bool,
    /// What the server speaks.
    #[command(flatten)]
    pub era: EraQuirks,
    /// Defects of `tools/list`.
    #[command(flatten)]
    pub declaration: DeclarationDefects,
    /// Defects of results.
    #[command(flatten)]
    pub outputs: OutputDefects,
    /// Defects of lines, time and the process.
    #[command(flatten)]
    pub wire: WireDefects,
}

impl Options {
    /// The names of all switches, with their dashes, in the order of the help.
    pub fn switches() -> Vec<String> {
        let command = Self::augment_args(clap::Command::new("sample-server"));
        command.get_arguments().filter_map(|it| it.get_long()).map(|it| format!("--{it}")).collect()
    }
}

/// The tool that has the defects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(String);

impl Target {
    /// Whether the tool of this name is meant.
    pub fn names(&self, tool: &str) -> bool {
        self.0 == "*" || self.0 == tool
    }
}

impl Default for Target {
    fn default() -> Self {
        Self("search_customers".to_owned())
    }
}

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl std::str::FromStr for Target {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(name))
    }
}

/// What the server speaks, and how servers of another time answer what they do not know.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Revisions")]
pub struct EraQuirks {
    /// Speak only this revision; may be given more than once
    #[arg(long = "only", value_name = "REVISION")]
    pub only: Vec<Revision>,
    /// Answer `server/discover` with an empty object, as sloppy servers of the handshake do
    #[arg(long)]
    pub discover_empty: bool,
    /// Never answer `server/discover`
    #[arg(long)]
    pub discover_silent: bool,
    /// Exit when the first message is not `initialize`
    #[arg(long)]
    pub exit_on_unknown: bool,
}

impl EraQuirks {
    /// The revisions that are spoken: those that were asked for, or the ones that servers with such quirks speak.
    pub(crate) fn revisions(&self) -> Vec<Revision> {
        let is_old = self.discover_empty || self.discover_silent || self.exit_on_unknown;
        let is_spoken = |it: &Revision| match self.only.as_slice() {
            [] => !is_old || it.has_handshake(),
            only => only.contains(it),
        };
        Revision::ALL.into_iter().filter(is_spoken).collect()
    }
}

/// Defects of `tools/list`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Defects of declarations")]
pub struct DeclarationDefects {
    /// Leave `outputVariants` out (H09)
    #[arg(long)]
    pub no_output_variants: bool,
    /// Declare no assistant/content (H07)
    #[arg(long)]
    pub no_assistant_content: bool,
    /// Declare a pair twice (H06)
    #[arg(long)]
    pub duplicate_pair: bool,
    /// Declare extension audiences that were not negotiated (H08)
    #[arg(long)]
    pub unnegotiated_audience: bool,
}

/// Defects of results.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Defects of outputs")]
pub struct OutputDefects {
    /// Send an output that was not requested (H19)
    #[arg(long)]
    pub unrequested_output: bool,
    /// Leave the last requested output out (H19)
    #[arg(long)]
    pub missing_output: bool,
    /// Send an output twice (H19)
    #[arg(long)]
    pub duplicate_output: bool,
    /// Label the last output for another audience than its selector's (H19)
    #[arg(long)]
    pub mismatched_pair: bool,
    /// Break the schema of assistant/structured (H04)
    #[arg(long)]
    pub violate_assistant: bool,
    /// Break the schema of user/structured (H04)
    #[arg(long)]
    pub violate_user: bool,
    /// Break the schema of programmatic/structured (H04)
    #[arg(long)]
    pub violate_programmatic: bool,
    /// Break the schema of the View's output (H04, H34)
    #[arg(long)]
    pub violate_ui: bool,
    /// Mirror a structured output as text into a content output that was not requested (S08)
    #[arg(long)]
    pub mirrored_text: bool,
    /// Send an empty `outputs` (H27)
    #[arg(long)]
    pub empty_outputs: bool,
    /// Put secrets into the result's `_meta` (H26, S14)
    #[arg(long)]
    pub meta_secrets: bool,
}

/// Defects of lines, time and the process.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Defects of the wire and the process")]
pub struct WireDefects {
    /// Answer calls that were cancelled, too
    #[arg(long)]
    pub late: bool,
    /// Wait this long before each call is answered
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub delay_ms: u64,
    /// Cut the line of each call's answer in the middle
    #[arg(long)]
    pub malformed_line: bool,
    /// Print banners, dates and pretty-printed objects at the start and before each call's answer
    #[arg(long)]
    pub noise: bool,
    /// Print a log line in the middle of each call's answer
    #[arg(long)]
    pub interleaved: bool,
    /// Put bytes that are not UTF-8 into a string of each call's answer
    #[arg(long)]
    pub invalid_utf8: bool,
    /// Exit in the middle of a call
    #[arg(long)]
    pub crash_on_call: bool,
    /// Exit before the first message
    #[arg(long)]
    pub crash_at_start: bool,
    /// Never answer a call
    #[arg(long)]
    pub hang: bool,
    /// Print this many lines of 1 KiB before each call's answer
    #[arg(long, value_name = "LINES", num_args = 0..=1, default_missing_value = "100000")]
    pub flood: Option<u32>,
}
