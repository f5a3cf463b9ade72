//! What a client under test is put before in each scenario: the mock server's tools, what is wrong with it, the calls that the client
//! is told to make, and what must come of them.

use usher_protocol::{
    Revision, Rule,
    model::{Audience, Format, Selector},
};

use crate::Scenario;

/// One run of the client.
pub(crate) struct Situation {
    /// What the mock server speaks.
    pub(crate) revisions: Vec<Revision>,
    /// What the call is for, in a word.
    pub(crate) mode: &'static str,
    pub(crate) tools: Vec<MockTool>,
    pub(crate) spoil: Spoil,
    pub(crate) calls: Vec<Planned>,
    /// Who must receive what.
    pub(crate) must: Vec<Place>,
    /// Who may.
    pub(crate) may: Vec<Place>,
}

/// A tool of the mock server.
pub(crate) struct MockTool {
    pub(crate) name: &'static str,
    pub(crate) variants: Vec<Selector>,
    pub(crate) for_view_only: bool,
}

/// What the mock server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoil {
    /// Nothing.
    Nothing,
    /// The declaration of the tool `report` has no assistant/content.
    NoFallback,
    /// The declaration of the tool `report` has no variants.
    NoVariants,
    /// The declaration of the tool `report` has a variant for an extension that nobody negotiated.
    Stranger,
    /// A result has every output, whatever was asked for, and data in metadata.
    Unrequested,
    /// The View's payload of the tool `swapped` fits the programmatic schema, and not its own.
    Swapped,
    /// Under an earlier revision, declarations have variants and results have outputs.
    Lure,
}

/// A call that the client is told to make.
pub(crate) struct Planned {
    pub(crate) tool: &'static str,
    /// Who calls: `model`, `program`, `view` or `host`.
    pub(crate) caller: &'static str,
    /// The outputs for which there are consumers; `None` if no selection is to be sent.
    pub(crate) outputs: Option<Vec<Selector>>,
    pub(crate) expected: Expected,
    /// The requirement that the call is about, where there is one beside those of every call.
    pub(crate) rule: Option<Rule>,
}

/// What the call must look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// This selection, in any order.
    Exactly(Vec<Selector>),
    /// This selection, or none because it is the fallback.
    Fallback,
    /// No selection at all.
    NoSelection,
    /// No call, or one with this selection or less.
    AtMost(Vec<Selector>),
    /// No call.
    NotCalled,
}

/// Who received a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Consumer {
    Assistant,
    User,
    Programmatic,
    View,
}

impl Consumer {
    pub(crate) const ALL: [Self; 4] = [Self::Assistant, Self::User, Self::Programmatic, Self::View];

    /// By the word that clients report.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            "assistant" => Some(Self::Assistant),
            "user" => Some(Self::User),
            "programmatic" => Some(Self::Programmatic),
            "view" | usher_protocol::UI_EXTENSION => Some(Self::View),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::User => "user",
            Self::Programmatic => "programmatic",
            Self::View => "view",
        }
    }
}

/// A consumer, and the canary of a tool's payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) consumer: Consumer,
    pub(crate) tool: &'static str,
    pub(crate) kind: Kind,
}

/// What a canary stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An output, or what an earlier revision makes of it.
    Output(Selector),
    /// Metadata that has no audience.
    Meta,
    /// The Apps extension's own metadata.
    UiMeta,
    /// Outputs in a result of a revision that has none.
    Lure,
}

impl Kind {
    /// Its part of the canary.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Output(selector) if *selector == Selector::ui() => "ui-structured".to_owned(),
            Self::Output(Selector { audience: Audience::Extension(_), format }) => format!("other-{format}"),
            Self::Output(Selector { audience, format }) => format!("{audience}-{format}"),
            Self::Meta => "meta".to_owned(),
            Self::UiMeta => "uimeta".to_owned(),
            Self::Lure => "lure".to_owned(),
        }
    }
}

/// The string that names one payload of one run.
pub(crate) fn canary(tool: &str, kind: &Kind, seed: &str) -> String {
    format!("canary-{tool}-{}-{seed}", kind.word())
}

/// Every pair that the mock's tools can declare.
pub(crate) fn all_variants() -> Vec<Selector> {
    vec![
        Selector::ASSISTANT_CONTENT,
        Selector::ASSISTANT_STRUCTURED,
        Selector::USER_CONTENT,
        Selector::USER_STRUCTURED,
        Selector::PROGRAMMATIC,
        Selector::ui(),
    ]
}

/// An extension that nobody has.
pub(crate) fn stranger() -> Selector {
    let audience = Audience::Extension("dev.example/charts".to_owned());
    Selector { audience, format: Format::Structured }
}

const REPORT: &str = "report";
const PANEL: &str = "panel";
const REFRESH: &str = "refresh";
const SWAPPED: &str = "swapped";
const SOUND: &str = "sound";

fn report(variants: Vec<Selector>) -> MockTool {
    MockTool { name: REPORT, variants, for_view_only: false }
}

fn place(consumer: Consumer, tool: &'static str, selector: Selector) -> Place {
    Place { consumer, tool, kind: Kind::Output(selector) }
}

fn planned(tool: &'static str, caller: &'static str, outputs: &[Selector]) -> Planned {
    let expected = match outputs {
        [it] if *it == Selector::ASSISTANT_CONTENT => Expected::Fallback,
        _ => Expected::Exactly(outputs.to_vec()),
    };
    Planned { tool, caller, outputs: Some(outputs.to_vec()), expected, rule: None }
}

impl Situation {
    /// A tool with every variant, called once; each output must reach its consumer.
    fn simple(mode: &'static str, caller: &'static str, outputs: &[(Consumer, Selector)]) -> Self {
        let selectors: Vec<Selector> = outputs.iter().map(|it| it.1.clone()).collect();
        let must = outputs.iter().map(|(consumer, selector)| place(*consumer, REPORT, selector.clone()));
        Self {
            revisions: vec![Revision::NEWEST],
            mode,
            tools: vec![report(all_variants())],
            spoil: Spoil::Nothing,
            calls: vec![planned(REPORT, caller, &selectors)],
            must: must.collect(),
            may: Vec::new(),
        }
    }

    /// A tool with a defect, for whose output nobody need be there, and then one without, which must be called: a client that does
    /// nothing, or that the defect ends, is no client that does right.
    fn defective(
        spoil: Spoil,
        variants: Vec<Selector>,
        outputs: &[Selector],
        expected: Expected,
        rule: Option<Rule>,
    ) -> Self {
        let content = Selector::ASSISTANT_CONTENT;
        let outputs = Some(outputs.to_vec());
        Self {
            spoil,
            tools: vec![
                report(variants),
                MockTool { name: SOUND, variants: all_variants(), for_view_only: false },
            ],
            calls: vec![
                Planned { tool: REPORT, caller: "model", outputs, expected, rule },
                planned(SOUND, "model", std::slice::from_ref(&content)),
            ],
            may: vec![place(Consumer::Assistant, SOUND, content)],
            ..Self::simple("conversation", "model", &[])
        }
    }

    /// A View that is opened by the model's call of `panel`, and then a call of the tool that is for Views only.
    fn for_view(caller: &'static str, outputs: Option<Vec<Selector>>) -> Self {
        let (content, ui) = (Selector::ASSISTANT_CONTENT, Selector::ui());
        let expected = outputs.clone().map_or(Expected::NoSelection, Expected::Exactly);
        Self {
            mode: "app",
            tools: vec![
                MockTool { name: PANEL, variants: vec![content.clone(), ui.clone()], for_view_only: false },
                MockTool { name: REFRESH, variants: all_variants(), for_view_only: true },
            ],
            calls: vec![
                planned(PANEL, "model", &[content.clone(), ui.clone()]),
                Planned { tool: REFRESH, caller, outputs, expected, rule: Some(Rule::H30) },
            ],
            must: Vec::new(),
            may: vec![place(Consumer::Assistant, PANEL, content), place(Consumer::View, PANEL, ui)],
            ..Self::simple("app", "model", &[])
        }
    }

    /// The same call under an earlier revision. Who receives what is the client's own policy there.
    fn earlier(revision: Revision, spoil: Spoil) -> Self {
        let selectors = [Selector::ASSISTANT_CONTENT, Selector::ASSISTANT_STRUCTURED];
        let may = Consumer::ALL
            .into_iter()
            .flat_map(|consumer| selectors.clone().into_iter().map(move |it| place(consumer, REPORT, it)));
        // The View of an earlier revision receives the whole result as it came, so there is none here.
        let variants = all_variants().into_iter().filter(|it| *it != Selector::ui()).collect();
        Self {
            revisions: vec![revision],
            tools: vec![report(variants)],
            spoil,
            calls: vec![Planned {
                tool: REPORT,
                caller: "model",
                outputs: Some(vec![Selector::ASSISTANT_CONTENT, Selector::USER_STRUCTURED]),
                expected: Expected::NoSelection,
                rule: None,
            }],
            must: Vec::new(),
            may: may.collect(),
            ..Self::simple("conversation", "model", &[])
        }
    }
}

/// The runs of a scenario.
pub(crate) fn situations(scenario: Scenario) -> Vec<Situation> {
    use Consumer::{Assistant, Programmatic, User, View};
    let (content, ui) = (Selector::ASSISTANT_CONTENT, Selector::ui());
    let simple =
        |mode, caller, outputs: &[(Consumer, Selector)]| vec![Situation::simple(mode, caller, outputs)];
    let unusable = |spoil, rule| {
        let wanted = [Selector::ASSISTANT_CONTENT];
        Situation::defective(spoil, all_variants(), &wanted, Expected::NotCalled, Some(rule))
    };
    match scenario {
        Scenario::P01 => simple("conversation", "model", &[(Assistant, content)]),
        Scenario::P02 => simple("code", "program", &[(Programmatic, Selector::PROGRAMMATIC)]),
        Scenario::P03 => simple("data", "model", &[(Assistant, Selector::ASSISTANT_STRUCTURED)]),
        Scenario::P04 => simple("media", "model", &[(User, Selector::USER_CONTENT)]),
        Scenario::P05 => simple("table", "model", &[(User, Selector::USER_STRUCTURED)]),
        Scenario::P06 => simple("app", "model", &[(Assistant, content), (View, ui)]),
        Scenario::P07 => vec![unusable(Spoil::NoFallback, Rule::H07)],
        Scenario::P08 => {
            let mut situation = Situation::for_view("view", Some(vec![ui.clone()]));
            situation.must.push(place(View, REFRESH, ui));
            vec![situation]
        }
        Scenario::P09 => {
            let mut situation = Situation::for_view("host", None);
            let anybody = Consumer::ALL.into_iter().map(|it| place(it, REFRESH, content.clone()));
            situation.may.extend(anybody);
            vec![situation]
        }
        Scenario::P10 => {
            let declared = vec![content.clone(), Selector::ASSISTANT_STRUCTURED];
            let wanted = [content.clone(), Selector::USER_STRUCTURED, stranger()];
            let expected = Expected::AtMost(declared.clone());
            let mut situation = Situation::defective(Spoil::Stranger, declared, &wanted, expected, None);
            situation.may.push(place(Assistant, REPORT, content));
            vec![situation]
        }
        Scenario::P11 => {
            let mut situation =
                Situation::simple("app", "model", &[(Assistant, content.clone()), (View, ui.clone())]);
            situation.spoil = Spoil::Swapped;
            situation.tools.push(MockTool { name: SWAPPED, variants: all_variants(), for_view_only: false });
            situation.calls.push(planned(REPORT, "program", &[Selector::PROGRAMMATIC]));
            situation.calls.push(planned(SWAPPED, "model", &[content.clone(), ui.clone()]));
            situation.must.push(place(Programmatic, REPORT, Selector::PROGRAMMATIC));
            situation.must.push(place(Assistant, SWAPPED, content));
            situation.may.push(place(View, SWAPPED, ui));
            vec![situation]
        }
        Scenario::P12 => earlier_revisions().map(|it| Situation::earlier(it, Spoil::Nothing)).collect(),
        Scenario::P13 => earlier_revisions().map(|it| Situation::earlier(it, Spoil::Lure)).collect(),
        Scenario::P14 => vec![unusable(Spoil::NoVariants, Rule::H09)],
        Scenario::P15 => {
            let mut situation = Situation::simple("app", "model", &[(Assistant, content), (View, ui)]);
            situation.spoil = Spoil::Unrequested;
            situation.may.push(Place { consumer: View, tool: REPORT, kind: Kind::UiMeta });
            vec![situation]
        }
    }
}

/// Newest first: a client need not speak all of them.
fn earlier_revisions() -> impl Iterator<Item = Revision> {
    Revision::ALL.into_iter().rev().filter(|it| !it.has_output_variants())
}
