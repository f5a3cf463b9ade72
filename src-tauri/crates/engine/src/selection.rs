//! What a call asks for: mode × consumers × the tool's variants × negotiated extensions × local policy.
//!
//! Deliberately absent: anything that a model wrote. A selection is host control data (rule H14).

use std::fmt;

use serde::{Deserialize, Serialize};
use usher_protocol::{
    Revision, Rule,
    model::{Audience, Contract, Format, OutputVariant, Selector, Tool},
};

use crate::{Defect, Extensions, Mode, Origin, declaration};

/// Everything that a selection depends on.
#[derive(Debug, Clone, Copy)]
pub struct SelectionInput<'a> {
    /// The revision of the request.
    pub revision: Revision,
    /// The tool to be called.
    pub tool: &'a Tool,
    /// The conversation's mode.
    pub mode: Mode,
    /// Who calls.
    pub origin: Origin,
    /// Who can receive.
    pub consumers: Consumers,
    /// The extensions that both sides advertised.
    pub negotiated: &'a Extensions,
    /// What the user set.
    pub policy: &'a SelectionPolicy,
}

/// The consumers that are there for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumers {
    /// A model reads tool results.
    pub model: bool,
    /// A person sees content.
    pub user: bool,
    /// The user's side can present structured data as a table, properties or a tree (rule H17).
    pub structured_renderer: bool,
    /// A frame for an App View.
    pub view: bool,
}

impl Consumers {
    /// A window: everyone can be there.
    pub const WINDOW: Self = Self { model: true, user: true, structured_renderer: true, view: true };
    /// A terminal: no frame for Views.
    pub const TERMINAL: Self = Self { model: true, user: true, structured_renderer: true, view: false };
}

/// What the user set about selections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectionPolicy {
    /// Send nothing when only the fallback is wanted (the proposal's first open question).
    pub omit_fallback_selection: bool,
    /// Do not ask for structured variants that declare no schema (rule H18).
    pub decline_schemaless: bool,
    /// Custom mode: what the user chose for this tool. `None` leaves the choice to Chat mode.
    pub custom: Option<Vec<Selector>>,
}

/// What a call asks for, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The revision of the request, which decides the shape of the result.
    pub revision: Revision,
    /// Who calls.
    pub origin: Origin,
    /// The conversation's mode.
    pub mode: Mode,
    /// `requestedOutputs` as sent; `None` sends none.
    pub requested: Option<Vec<Selector>>,
    /// The outputs that a correct successful result has; empty under earlier revisions.
    pub expected: Vec<Selector>,
    /// How many variants the tool declares.
    pub declared: usize,
    /// One reason per variant, and for what was left out.
    pub reasons: Vec<Reason>,
}

/// Why a variant was or was not asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The variant; absent for a reason about the whole.
    pub selector: Option<Selector>,
    /// Whether it was asked for.
    pub asked: bool,
    /// The rule that decided, if a numbered one.
    pub rule: Option<Rule>,
    /// The reason.
    pub because: Because,
}

/// A reason of a selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The mode asks for it.
    ModeAsks(Mode),
    /// The mode has no use for it.
    ModeDoesNotAsk(Mode),
    /// The caller consumes it.
    CallerConsumes(Origin),
    /// The caller does not consume it.
    CallerDoesNotConsume(Origin),
    /// The user chose it for this tool.
    UserChose,
    /// The user did not choose it for this tool.
    UserDidNotChoose,
    /// It stands in for a variant that the tool does not declare.
    StandsInFor(Selector),
    /// It is shown already by another variant.
    AnotherIsShown(Selector),
    /// It declares no schema, and the user declines those.
    NoSchema,
    /// Nobody is there to receive it.
    NobodyThere,
    /// The host cannot present structured data here.
    CannotPresent,
    /// The request's revision has no selection.
    EarlierRevision(Revision),
    /// Nothing is sent: the tool declares only the fallback.
    OnlyTheFallbackExists,
    /// Nothing is sent: the fallback is all that is wanted, and the user prefers to omit it.
    FallbackOmitted,
}

/// A call that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// The declaration is invalid.
    #[error("{}", .0.text)]
    Declaration(Defect),
    /// The caller needs a variant that the tool does not declare, and no other audience's output takes its place (rules H25, H27).
    #[error(
        "{tool} declares no {selector}, and an output for another audience is never handed over in its place"
    )]
    NotDeclared {
        /// The tool.
        tool: String,
        /// What the caller needs.
        selector: Selector,
    },
    /// The caller must not see the tool (rule H30).
    #[error("{tool} is for {} only", if *.for_view { "Views" } else { "models" })]
    NotVisible {
        /// The tool.
        tool: String,
        /// Whether it is for Views.
        for_view: bool,
    },
    /// The user's own choice is invalid.
    #[error("{}", .0.text)]
    Choice(Defect),
}

impl SelectionError {
    /// The rule that forbids the call.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Self::Declaration(defect) | Self::Choice(defect) => defect.rule,
            Self::NotDeclared { .. } => Some(Rule::H11),
            Self::NotVisible { .. } => Some(Rule::H30),
        }
    }
}

/// Chooses what a call asks for (rules H10-H18, H30).
///
/// # Errors
/// The call must not be made; see [`SelectionError`].
pub fn select(input: SelectionInput<'_>) -> Result<Selection, SelectionError> {
    let tool = input.tool;
    check_visibility(tool, input.origin)?;
    let usable = declaration::check(tool, input.negotiated).map_err(SelectionError::Declaration)?;
    let empty = Selection {
        revision: input.revision,
        origin: input.origin,
        mode: input.mode,
        requested: None,
        expected: Vec::new(),
        declared: usable.variants.len(),
        reasons: Vec::new(),
    };
    let legacy = matches!(tool.contract, Contract::Legacy { .. });
    if legacy || !input.revision.has_output_variants() {
        let because = Because::EarlierRevision(input.revision);
        let reasons = vec![Reason { selector: None, asked: false, rule: Some(Rule::H10), because }];
        return Ok(Selection { reasons, ..empty });
    }
    let reasons = match input.origin {
        Origin::Script => caller_only(&input, &usable.variants, &Selector::PROGRAMMATIC)?,
        Origin::View => caller_only(&input, &usable.variants, &Selector::ui())?,
        Origin::Model | Origin::User => by_mode(&input, &usable.variants)?,
    };
    let expected: Vec<Selector> =
        reasons.iter().filter(|it| it.asked).filter_map(|it| it.selector.clone()).collect();
    Ok(finish(&input, Selection { expected, reasons, ..empty }))
}

/// Decides whether `requestedOutputs` is written at all.
fn finish(input: &SelectionInput<'_>, mut selection: Selection) -> Selection {
    let only_fallback = selection.expected == [Selector::ASSISTANT_CONTENT];
    let omitted = if only_fallback && selection.declared == 1 {
        Some(Because::OnlyTheFallbackExists)
    } else if only_fallback && input.policy.omit_fallback_selection {
        Some(Because::FallbackOmitted)
    } else {
        None
    };
    match omitted {
        Some(because) => {
            selection.reasons.push(Reason { selector: None, asked: false, rule: Some(Rule::H16), because });
        }
        None => selection.requested = Some(selection.expected.clone()),
    }
    selection
}

fn check_visibility(tool: &Tool, origin: Origin) -> Result<(), SelectionError> {
    let seen = match origin {
        Origin::Model | Origin::Script => tool.is_visible_to_model(),
        Origin::View => tool.is_visible_to_view(),
        Origin::User => true,
    };
    if seen {
        return Ok(());
    }
    Err(SelectionError::NotVisible { tool: tool.name.clone(), for_view: tool.is_visible_to_view() })
}

/// A script or a View asks for the one variant that is made for it.
fn caller_only(
    input: &SelectionInput<'_>,
    variants: &[OutputVariant],
    wanted: &Selector,
) -> Result<Vec<Reason>, SelectionError> {
    if !variants.iter().any(|it| it.selector == *wanted) {
        return Err(SelectionError::NotDeclared { tool: input.tool.name.clone(), selector: wanted.clone() });
    }
    let reason = |it: &OutputVariant| {
        let asked = it.selector == *wanted;
        let because = if asked {
            Because::CallerConsumes(input.origin)
        } else {
            Because::CallerDoesNotConsume(input.origin)
        };
        Reason { selector: Some(it.selector.clone()), asked, rule: None, because }
    };
    Ok(variants.iter().map(reason).collect())
}

fn by_mode(input: &SelectionInput<'_>, variants: &[OutputVariant]) -> Result<Vec<Reason>, SelectionError> {
    if let (Mode::Custom, Some(chosen)) = (input.mode, &input.policy.custom) {
        return custom(input, variants, chosen);
    }
    let mut reasons: Vec<Reason> = variants.iter().map(|it| judge(input, variants, it)).collect();
    if !reasons.iter().any(|it| it.asked) {
        // Something must be asked for, and every tool has the fallback (rule H07).
        for reason in
            reasons.iter_mut().filter(|it| it.selector.as_ref() == Some(&Selector::ASSISTANT_CONTENT))
        {
            reason.asked = true;
            reason.because = Because::StandsInFor(preferred(input.mode));
        }
    }
    Ok(reasons)
}

fn custom(
    input: &SelectionInput<'_>,
    variants: &[OutputVariant],
    chosen: &[Selector],
) -> Result<Vec<Reason>, SelectionError> {
    if let Some(defect) = declaration::check_choice(input.tool, input.negotiated, chosen).into_iter().next() {
        return Err(SelectionError::Choice(defect));
    }
    if chosen.is_empty() {
        return Err(SelectionError::Choice(Defect::of(Rule::H27, "nothing is chosen for this tool")));
    }
    let reason = |it: &OutputVariant| {
        let asked = chosen.contains(&it.selector);
        let because = if asked { Because::UserChose } else { Because::UserDidNotChoose };
        Reason { selector: Some(it.selector.clone()), asked, rule: None, because }
    };
    Ok(variants.iter().map(reason).collect())
}

/// What a mode is about, to say what a stand-in stands in for.
fn preferred(mode: Mode) -> Selector {
    match mode {
        Mode::Chat | Mode::Custom | Mode::App => Selector::ASSISTANT_CONTENT,
        Mode::Data => Selector::ASSISTANT_STRUCTURED,
        Mode::Code => Selector::PROGRAMMATIC,
        Mode::Present => Selector::USER_STRUCTURED,
    }
}

/// Decides about one variant: first whether the mode wants it, then whether it can be used.
fn judge(input: &SelectionInput<'_>, variants: &[OutputVariant], variant: &OutputVariant) -> Reason {
    let selector = &variant.selector;
    let reason = |asked, rule, because| Reason { selector: Some(selector.clone()), asked, rule, because };
    let wanted = match wish(input, variants, selector) {
        Ok(because) => because,
        Err((rule, because)) => return reason(false, rule, because),
    };
    let there = match &selector.audience {
        Audience::Assistant => input.consumers.model || matches!(wanted, Because::StandsInFor(_)),
        Audience::User => input.consumers.user,
        Audience::Programmatic => true,
        Audience::Extension(_) => input.consumers.view,
    };
    if !there {
        return reason(false, None, Because::NobodyThere);
    }
    let for_user = selector.audience == Audience::User;
    if for_user && selector.format == Format::Structured && !input.consumers.structured_renderer {
        return reason(false, Some(Rule::H17), Because::CannotPresent);
    }
    if selector.format == Format::Structured && variant.schema.is_none() && input.policy.decline_schemaless {
        return reason(false, Some(Rule::H18), Because::NoSchema);
    }
    reason(true, None, wanted)
}

/// Whether the mode wants a variant, without regard to who is there.
fn wish(
    input: &SelectionInput<'_>,
    variants: &[OutputVariant],
    selector: &Selector,
) -> Result<Because, (Option<Rule>, Because)> {
    let declares = |it: &Selector| {
        let schema_fits = |v: &OutputVariant| v.schema.is_some() || !input.policy.decline_schemaless;
        variants.iter().any(|v| v.selector == *it && (it.format == Format::Content || schema_fits(v)))
    };
    let mode = input.mode;
    let no = Err((None, Because::ModeDoesNotAsk(mode)));
    let yes = Ok(Because::ModeAsks(mode));
    match (&selector.audience, selector.format) {
        (Audience::Assistant, Format::Content) => match mode {
            Mode::Chat | Mode::App | Mode::Custom => yes,
            Mode::Data if declares(&Selector::ASSISTANT_STRUCTURED) => no,
            Mode::Data => Ok(Because::StandsInFor(Selector::ASSISTANT_STRUCTURED)),
            Mode::Code | Mode::Present => no,
        },
        (Audience::Assistant, Format::Structured) => {
            if mode == Mode::Data {
                yes
            } else {
                no
            }
        }
        (Audience::User, format) => match mode {
            Mode::Present => yes,
            Mode::Chat | Mode::Data | Mode::Custom => {
                let shows_structured =
                    input.consumers.structured_renderer && declares(&Selector::USER_STRUCTURED);
                if format == Format::Content && shows_structured {
                    Err((None, Because::AnotherIsShown(Selector::USER_STRUCTURED)))
                } else {
                    yes
                }
            }
            Mode::Code | Mode::App => no,
        },
        (Audience::Programmatic, _) => {
            if mode == Mode::Code {
                yes
            } else {
                no
            }
        }
        (Audience::Extension(_), _) => match mode {
            Mode::Chat | Mode::App | Mode::Data | Mode::Custom if has_view(input.tool) => yes,
            Mode::Chat | Mode::App | Mode::Data | Mode::Custom => {
                Err((Some(Rule::H24), Because::NobodyThere))
            }
            Mode::Code | Mode::Present => no,
        },
    }
}

fn has_view(tool: &Tool) -> bool {
    tool.ui.as_ref().is_some_and(|it| it.resource_uri.is_some())
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ModeAsks(mode) => write!(f, "mode {} asks for it", mode.name()),
            Self::ModeDoesNotAsk(mode) => write!(f, "mode {} has no use for it", mode.name()),
            Self::CallerConsumes(origin) => write!(f, "{} consumes it", caller(*origin)),
            Self::CallerDoesNotConsume(origin) => write!(f, "{} does not consume it", caller(*origin)),
            Self::UserChose => f.write_str("you chose it for this tool"),
            Self::UserDidNotChoose => f.write_str("you did not choose it for this tool"),
            Self::StandsInFor(selector) => write!(f, "the tool declares nothing usable for {selector}"),
            Self::AnotherIsShown(selector) => write!(f, "{selector} is shown already"),
            Self::NoSchema => f.write_str("it declares no schema, and your settings decline those"),
            Self::NobodyThere => f.write_str("nobody is there to receive it"),
            Self::CannotPresent => f.write_str("structured data cannot be presented here"),
            Self::EarlierRevision(revision) => {
                write!(f, "{revision} has no requestedOutputs; local policy routes the result")
            }
            Self::OnlyTheFallbackExists => {
                f.write_str("nothing is sent: the tool declares only assistant/content")
            }
            Self::FallbackOmitted => f.write_str("nothing is sent: the fallback is all that is wanted"),
        }
    }
}

fn caller(origin: Origin) -> &'static str {
    match origin {
        Origin::Model => "the model",
        Origin::Script => "the script",
        Origin::View => "the View",
        Origin::User => "the user",
    }
}

impl Reason {
    /// The reason as one line.
    pub fn line(&self) -> String {
        match &self.selector {
            Some(selector) if self.asked => format!("{selector}: asked, {}", self.because),
            Some(selector) => format!("{selector}: not asked, {}", self.because),
            None => self.because.to_string(),
        }
    }
}
