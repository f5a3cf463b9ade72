//! The fifteen cases of the proposal's test plan, by their names here.

use std::str::FromStr;

use serde::{Serialize, Serializer};

macro_rules! scenarios {
    ($($id:ident $name:literal $server:literal $client:literal,)*) => {
        /// A case of the proposal's test plan ("Reference implementation and testing plan").
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Scenario {
            $(#[doc = $server] $id,)*
        }

        impl Scenario {
            /// All of them, in the order of the plan.
            pub const ALL: &[Self] = &[$(Self::$id),*];

            /// Its number in the plan, such as `P01`.
            pub fn id(self) -> &'static str {
                match self { $(Self::$id => stringify!($id),)* }
            }

            /// Its name, such as `sep-3279-p01-assistant-content`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$id => concat!("sep-3279-", $name),)* }
            }

            /// What a server owes in it.
            pub fn of_server(self) -> &'static str {
                match self { $(Self::$id => $server,)* }
            }

            /// What a client owes in it.
            pub fn of_client(self) -> &'static str {
                match self { $(Self::$id => $client,)* }
            }
        }
    };
}

scenarios! {
    P01 "p01-assistant-content"
        "A tool gives exactly assistant/content, asked for by name and without a selection."
        "A conversational call asks for assistant/content, and the model alone receives it.",
    P02 "p02-programmatic-structured"
        "A tool that declares programmatic/structured gives exactly that when it is asked for."
        "A call of a program asks for programmatic/structured, and the program alone receives it.",
    P03 "p03-assistant-structured"
        "A tool that declares assistant/structured gives exactly that when it is asked for."
        "A call that wants data for the model asks for assistant/structured, and the model alone receives it.",
    P04 "p04-user-content"
        "A tool that declares user/content gives exactly that when it is asked for."
        "Media for the user are asked for as user/content and reach the user, never the model.",
    P05 "p05-user-structured"
        "A tool that declares user/structured gives exactly that when it is asked for."
        "A table for the user is asked for as user/structured and reaches the user, never the model.",
    P06 "p06-apps-call"
        "A tool with an App View gives exactly assistant/content and the View's output, and they agree."
        "An Apps call asks for both outputs; the model receives one of them and the View the other.",
    P07 "p07-fallback-declared"
        "Every tool declares assistant/content, no pair twice, and no extension that was not negotiated."
        "A tool that declares no assistant/content is not called.",
    P08 "p08-app-only-selection"
        "A tool for Views only gives exactly the View's output when it is asked for."
        "A View's call of a tool for Views only asks for the View's output, which reaches the View alone.",
    P09 "p09-app-only-fallback"
        "A tool for Views only gives exactly assistant/content without a selection."
        "A tool for Views only can be called without a selection; then it gives assistant/content.",
    P10 "p10-selectors-refused"
        "Selectors that are not declared, not negotiated or repeated are refused as invalid parameters."
        "No selector is sent that the tool does not declare, that was not negotiated, or twice.",
    P11 "p11-schemas-independent"
        "Each structured output fits the schema of its own variant."
        "Each structured output is checked with the schema of its own variant and no other.",
    P12 "p12-earlier-requests"
        "Under each earlier revision a call without a selection gets a result of that revision's shape."
        "No selection is sent under an earlier revision.",
    P13 "p13-earlier-projections"
        "Declarations and results are projected to each earlier revision as the proposal says."
        "Under an earlier revision its own shapes are read, and what looks like outputs is no signal.",
    P14 "p14-variants-declared"
        "Every tool declares its variants."
        "A tool without outputVariants is not called under the revision that has them.",
    P15 "p15-nothing-unrequested"
        "No output is sent that was not asked for, no text mirror either, and no data in metadata."
        "Outputs that were not asked for, and metadata, reach neither the model nor the View nor anybody else.",
}

impl FromStr for Scenario {
    type Err = String;

    /// By the whole name, or by the number: `P03`, `p3`, `03` or `3`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |it: &str| it.trim_start_matches(['P', 'p']).parse::<u8>().ok();
        let given = number(text);
        let found =
            Self::ALL.iter().find(|it| it.name() == text || (given.is_some() && number(it.id()) == given));
        found.copied().ok_or_else(|| format!("there is no scenario {text:?}; --list names them"))
    }
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_has_a_name_and_a_number() {
        for text in ["sep-3279-p03-assistant-structured", "P03", "p03", "P3", "p3", "03", "3"] {
            assert_eq!(text.parse(), Ok(Scenario::P03), "{text}");
        }
        for text in ["", "P", "0", "16", "P99", "three", "-3", "sep-3279"] {
            assert!(text.parse::<Scenario>().is_err(), "{text}");
        }
    }
}
