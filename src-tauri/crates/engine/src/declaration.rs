//! Whether a tool's declaration can be used, and which of its variants.

use std::collections::BTreeSet;

use usher_protocol::{
    Rule,
    model::{Audience, Contract, OutputVariant, Selector, Tool},
};

use crate::{Defect, Extensions};

/// What of a declaration can be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usable {
    /// The variants that may be asked for; empty for a tool of an earlier revision.
    pub variants: Vec<OutputVariant>,
    /// What is wrong with the rest.
    pub defects: Vec<Defect>,
}

/// Checks a declaration (rules H03, H06, H07, H08).
///
/// A tool of an earlier revision declares no variants and is always usable (rule H31).
///
/// # Errors
/// The declaration is invalid as a whole: a pair twice (H06) or no assistant/content (H07). The tool must not be called.
pub fn check(tool: &Tool, negotiated: &Extensions) -> Result<Usable, Defect> {
    let declared = match &tool.contract {
        Contract::Legacy { .. } => return Ok(Usable::default()),
        Contract::Variants(declared) => declared,
    };
    let mut seen = BTreeSet::new();
    if let Some(twice) = declared.iter().find(|it| !seen.insert(&it.selector)) {
        return Err(Defect::of(Rule::H06, format!("{} declares {} twice", tool.name, twice.selector)));
    }
    if !seen.contains(&Selector::ASSISTANT_CONTENT) {
        return Err(Defect::of(Rule::H07, format!("{} does not declare assistant/content", tool.name)));
    }
    let mut usable = Usable::default();
    for variant in declared {
        match variant_defect(tool, &variant.selector, negotiated) {
            None => usable.variants.push(variant.clone()),
            Some(defect) => usable.defects.push(defect),
        }
    }
    Ok(usable)
}

fn variant_defect(tool: &Tool, selector: &Selector, negotiated: &Extensions) -> Option<Defect> {
    if !negotiated.admits(&selector.audience) {
        let text = format!("{} declares {selector}, an audience that was not negotiated", tool.name);
        return Some(Defect::of(Rule::H08, text));
    }
    if !selector.is_permitted() {
        return Some(Defect::of(
            Rule::H03,
            format!("{} declares {selector}, a pair that does not exist", tool.name),
        ));
    }
    None
}

/// Checks what a user chose for a tool in Custom mode; used while the choice is edited.
pub fn check_choice(tool: &Tool, negotiated: &Extensions, chosen: &[Selector]) -> Vec<Defect> {
    let mut defects = Vec::new();
    let mut seen = BTreeSet::new();
    for selector in chosen {
        if !seen.insert(selector) {
            defects.push(Defect::of(Rule::H13, format!("{selector} is chosen twice")));
        } else if !negotiated.admits(&selector.audience) {
            let rule =
                if matches!(selector.audience, Audience::Extension(_)) { Rule::H12 } else { Rule::H01 };
            defects.push(Defect::of(rule, format!("{selector} was not negotiated with the server")));
        } else if !selector.is_permitted() {
            defects.push(Defect::of(Rule::H03, format!("{selector} is not a pair that exists")));
        } else if tool.variant(selector).is_none() {
            defects.push(Defect::of(Rule::H11, format!("{} does not declare {selector}", tool.name)));
        }
    }
    defects
}
