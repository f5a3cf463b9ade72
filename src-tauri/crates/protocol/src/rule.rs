//! The numbered requirements that a diagnostic names.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($($id:ident $text:literal,)*) => {
        /// A numbered requirement of the audience-routing proposal (SEP-3279): `H` binds a host, `S` a server.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Rule {
            $(#[doc = $text] $id,)*
        }

        impl Rule {
            /// Every rule, in the order of the requirement ledger.
            pub const ALL: &[Self] = &[$(Self::$id),*];

            /// Its identifier, such as `H19`.
            pub fn id(self) -> &'static str {
                match self { $(Self::$id => stringify!($id),)* }
            }

            /// The requirement in one or two sentences.
            pub fn text(self) -> &'static str {
                match self { $(Self::$id => $text,)* }
            }
        }
    };
}

rules! {
    H01 "An output's audience is one of assistant, user, programmatic, or the identifier of an extension negotiated for the current request. Anything else is a defect and reaches nobody.",
    H02 "Routing is decided by the output's audience alone: never by its format, its content, or the annotations.audience of its blocks. On conflict the output level wins.",
    H03 "Only these core pairs exist: assistant/content, assistant/structured, user/content, user/structured, programmatic/structured. Any other core pair is invalid; other pairs come only from a negotiated extension.",
    H04 "(should) A structured output is checked against the schema of its own variant; never against another variant's, even if two schemas look equal.",
    H05 "An output of a result with isError: true need not conform to the success schema: it is not checked against it (an extension may define its own error schema).",
    H06 "A tool declaration with the same audience/format pair twice is invalid.",
    H07 "A tool declaration without assistant/content is rejected.",
    H08 "A tool declaration naming an extension audience that was not negotiated is invalid for that audience.",
    H09 "A tool without outputVariants under modern-outputs is an invalid response. No silent switch to legacy semantics; the host may repeat the request under an earlier revision that the server supports, visibly.",
    H10 "requestedOutputs is never sent on a request of an earlier revision.",
    H11 "Only advertised variants are selected.",
    H12 "An extension audience is requested only if both sides advertised the extension and finished any audience-specific negotiation.",
    H13 "No selector appears twice.",
    H14 "requestedOutputs is host control data: not part of the model's arguments, not visible or settable in what the model generates. (should) It is chosen from the active mode, available consumers, local policy and negotiated extensions.",
    H15 "(should) When a schema is shown to a model or script author for planning or code generation, it is the schema of the variant that will be requested, and only that one.",
    H16 "With requestedOutputs absent exactly one assistant/content output is expected; anything else in the result is a defect.",
    H17 "(should) user/structured is requested only if the host can present the declared schema.",
    H18 "(may) A structured variant without a schema may be declined; the choice is visible.",
    H19 "Of a successful result: a requested output that is missing, an output that was not requested, a duplicate, or a pair that differs from its selector is a server defect with a named rule. An unrequested output reaches nobody.",
    H20 "The order of outputs means nothing.",
    H21 "assistant outputs are eligible for model context; the host may transform them to the provider's tool-result format.",
    H22 "user outputs are never added to model context automatically, in either format.",
    H23 "programmatic outputs are never added to model context automatically and never rendered to the user automatically.",
    H24 "An extension output follows the extension's rules only.",
    H25 "Sending an output to a further audience is a local action that needs an explicit product policy or user action, recorded as such. One audience is never the fallback for another because formats match.",
    H26 "Result-level _meta has no audience: it reaches no consumer unless core or a negotiated extension defines handling for that entry.",
    H27 "Error outputs are not substituted across audiences. An empty outputs array is a defect, not a success.",
    H28 "The View receives the selected io.modelcontextprotocol/ui output only (plus the extension's own _meta entry): no assistant, user or programmatic bytes cross the View boundary.",
    H29 "Under 2026-07-28 and earlier the View receives the legacy CallToolResult as the Apps extension defines. The requested revision decides, nothing else.",
    H30 "App-only tools (_meta.ui.visibility: ['app']) are not exposed to the model, nor to scripts. A View or host calling one requests io.modelcontextprotocol/ui / structured explicitly; without a selection it gets assistant/content like every tool.",
    H31 "Under earlier revisions: legacy tool and request shapes, legacy result accepted; local selection rules apply; neither field is assumed to be made for an audience. outputVariants seen there is not a signal.",
    H32 "A rejected selection (-32602) is surfaced; another variant is never substituted silently.",
    H33 "Tool results are untrusted input whatever their audience; the audience is not an authorization or confidentiality boundary, the host enforces its own.",
    H34 "An App output is not validated with the programmatic schema, and no audience is accepted in place of another.",
    S01 "Every tool declares assistant/content; no pair twice; extension audiences only if negotiated.",
    S02 "assistant/content of a success is usable by a model: not a mere pointer to an output the model cannot receive.",
    S03 "(should) structured variants declare a schema, each tailored to its audience.",
    S04 "Exactly one output per requested selector; nothing unrequested; audience and format as in the selector.",
    S05 "requestedOutputs absent: assistant/content, exactly.",
    S06 "Undeclared or unnegotiated selector, or a selector twice: invalid parameters (-32602); no substitution.",
    S07 "Each structured output is validated against its own variant's schema before sending.",
    S08 "No structured output is mirrored into a content output that was not requested.",
    S09 "Outputs of one call do not contradict each other about the outcome.",
    S10 "isError: (should) outputs matching the selectors where a useful error exists; if none can be produced, a protocol error instead of an empty outputs.",
    S11 "tools/list under 2026-07-28 or earlier: legacy Tool, outputVariants omitted; outputSchema (may) from assistant/structured only; user, programmatic and extension schemas are never projected into it.",
    S12 "tools/call under 2026-07-28 or earlier: legacy content made from assistant/content, optional structuredContent; if that Tool declared outputSchema, a successful structuredContent conforms to it; (should) the mirroring that the revision recommends is kept.",
    S13 "A revision that is not implemented is refused by the ordinary versioning error (-32022 with supported).",
    S14 "Result _meta may vary with the selection; data meant for an audience is in that audience's output, not in _meta.",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|it| it.id() == text).ok_or_else(|| format!("{text} is not a rule"))
    }
}
