//! Results of 2026-07-28 and earlier: no part names an audience, so local policy routes them, and each door says that it is policy.

use std::{cell::OnceCell, collections::BTreeMap};

use serde_json::Value;
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock},
    model::{CallOutcome, Payload},
};

use crate::{
    Consumer, Defect, Mode, Origin,
    exact::is_rounded,
    routing::{Delivery, Door, LegacyPolicy, Routing, RoutingInput, Source, notice},
};

/// Routes a result of an earlier revision (rules H29, H31).
pub(crate) fn route(
    input: RoutingInput<'_>,
    outcome: &CallOutcome,
    content: &[ContentBlock],
    structured: Option<&RawJson>,
) -> Routing {
    let mut routing = Routing::default();
    if content.is_empty() && structured.is_none() {
        let text = "the result has neither content nor structuredContent".to_owned();
        routing.defects.push(Defect { rule: None, text });
    }
    match input.selection.origin {
        Origin::Script => to_script(content, structured, &mut routing),
        // The View gets what the Apps extension defines for the revision: the result as it came (rule H29).
        Origin::View => to_view(outcome, &mut routing),
        Origin::User => {
            to_user(outcome, content, structured, true, &mut routing);
            if input.has_view {
                to_view(outcome, &mut routing);
            }
        }
        Origin::Model => {
            let present = input.selection.mode == Mode::Present && !outcome.is_error;
            if !present {
                to_model(input.legacy, outcome.is_error, content, structured, &mut routing);
            }
            to_user(outcome, content, structured, present, &mut routing);
            if input.has_view {
                to_view(outcome, &mut routing);
            }
        }
    }
    withhold_meta(input, outcome, &mut routing);
    routing.notice = notice(input, outcome.is_error, &routing);
    routing
}

fn to_model(
    policy: LegacyPolicy,
    is_error: bool,
    content: &[ContentBlock],
    structured: Option<&RawJson>,
    routing: &mut Routing,
) {
    let for_model: Vec<ContentBlock> =
        content.iter().filter(|it| !it.is_hinted_user_only()).cloned().collect();
    let all_for_user = for_model.is_empty() && !content.is_empty();
    let usable = for_model.iter().any(is_usable);
    // A failed call says why in its text; data beside it would hide that.
    let structured = structured.filter(|_| !is_error || !usable);
    let (blocks, value, why) = match (structured, policy) {
        (Some(value), LegacyPolicy::StructuredFirst) => {
            let media = for_model.into_iter().filter(is_media).collect();
            (media, Some(value), "structuredContent in place of text; media stay")
        }
        (Some(value), LegacyPolicy::ContentFirst) if !usable && !all_for_user => {
            (Vec::new(), Some(value), "structuredContent, because content has nothing usable")
        }
        (_, LegacyPolicy::ContentFirst | LegacyPolicy::StructuredFirst) => {
            (for_model, None, if is_error { "on an error, content" } else { "content" })
        }
    };
    let door = || Door::Policy(format!("earlier revision: {why}"));
    if let Some(value) = value {
        push(routing, Consumer::Model, Source::LegacyStructured, Payload::Structured(value.clone()), door());
    }
    if blocks.iter().any(is_usable) {
        push(routing, Consumer::Model, Source::LegacyContent, Payload::Content(blocks), door());
    }
}

/// The user sees data as a table or properties, and of `content` what is not said by it.
fn to_user(
    outcome: &CallOutcome,
    content: &[ContentBlock],
    structured: Option<&RawJson>,
    everything: bool,
    routing: &mut Routing,
) {
    if let Some(value) = structured {
        let door = Door::Policy("earlier revision: structuredContent is shown to you".to_owned());
        push(routing, Consumer::User, Source::LegacyStructured, Payload::Structured(value.clone()), door);
    }
    let alone = structured.is_none() || everything || outcome.is_error;
    // The JSON of what is shown already is shown once, also where all is wanted.
    let mirror = structured.filter(|_| !outcome.is_error).map(Mirror::of);
    let said = |it: &ContentBlock| mirror.as_ref().is_some_and(|mirror| mirror.shows(it));
    let wanted = |it: &&ContentBlock| (alone || is_media(it) || it.is_hinted_user_only()) && !said(it);
    let blocks: Vec<ContentBlock> = content.iter().filter(wanted).cloned().collect();
    if blocks.iter().any(is_usable) {
        let door = Door::Policy("earlier revision: content is shown to you".to_owned());
        push(routing, Consumer::User, Source::LegacyContent, Payload::Content(blocks), door);
    }
    if structured.is_none()
        && !content.iter().any(is_usable)
        && let Some(rest) = without_meta(&outcome.raw)
    {
        let door = Door::Policy("earlier revision: shown as it came, for want of anything else".to_owned());
        push(routing, Consumer::User, Source::LegacyResult, Payload::Structured(rest), door);
    }
}

/// A result without its metadata, which has no audience (rule H26); nothing when nothing else is there.
fn without_meta(raw: &RawJson) -> Option<RawJson> {
    let mut fields: BTreeMap<String, RawJson> = raw.to().ok()?;
    fields.remove("_meta");
    let says_something = fields.keys().any(|key| key != "resultType");
    if says_something { RawJson::of(&fields).ok() } else { None }
}

fn to_script(content: &[ContentBlock], structured: Option<&RawJson>, routing: &mut Routing) {
    match structured {
        Some(value) => {
            let door = Door::Policy("earlier revision: scripts get structuredContent".to_owned());
            push(
                routing,
                Consumer::Script,
                Source::LegacyStructured,
                Payload::Structured(value.clone()),
                door,
            );
        }
        None => {
            let door = Door::Policy(
                "earlier revision: scripts get content where there is no structuredContent".to_owned(),
            );
            push(routing, Consumer::Script, Source::LegacyContent, Payload::Content(content.to_vec()), door);
        }
    }
}

fn to_view(outcome: &CallOutcome, routing: &mut Routing) {
    let door =
        Door::Policy("earlier revision: the View gets the result as the Apps extension defines".to_owned());
    push(routing, Consumer::View, Source::LegacyResult, Payload::Structured(outcome.raw.clone()), door);
}

/// The View gets `_meta` within the result; nobody else does (rule H26).
fn withhold_meta(input: RoutingInput<'_>, outcome: &CallOutcome, routing: &mut Routing) {
    let reached_view = routing.deliveries.iter().any(|it| it.to == Consumer::View);
    if let Some(meta) = outcome.meta.as_ref().filter(|_| !reached_view) {
        let only_server_info = meta
            .to_value()
            .as_object()
            .is_some_and(|it| it.keys().all(|key| key == "io.modelcontextprotocol/serverInfo"));
        if !only_server_info || !input.selection.revision.has_request_meta() {
            routing.withheld.push(crate::routing::withheld_meta("result _meta".to_owned(), meta.clone()));
        }
    }
}

fn push(routing: &mut Routing, to: Consumer, source: Source, payload: Payload, door: Door) {
    let bytes = crate::routing::payload_json(&payload).bytes();
    routing.deliveries.push(Delivery { to, source, payload, bytes, door });
}

/// A value whose JSON may stand in a text too, as earlier revisions recommend it (2025-06-18 server/tools, "Structured Content").
struct Mirror<'v> {
    value: &'v RawJson,
    tree: OnceCell<Value>,
}

impl<'v> Mirror<'v> {
    /// Larger ones are compared as they are written only, since comparing costs a tree of each.
    const LARGEST: usize = 256 << 10;
    fn of(value: &'v RawJson) -> Self {
        Self { value, tree: OnceCell::new() }
    }

    /// Whether a text is the value and nothing else.
    fn shows(&self, block: &ContentBlock) -> bool {
        let Some(text) = block.as_text() else { return false };
        let (text, value) = (text.trim(), self.value.get().trim());
        // Spaces and the order of keys are another's; a text of half the length is not.
        let is_compared = text.starts_with(['{', '['])
            && (value.len() / 2..=Self::LARGEST).contains(&text.len())
            && value.len() <= Self::LARGEST;
        text == value || is_compared && self.is_same(text)
    }

    fn is_same(&self, text: &str) -> bool {
        let Ok(text) = RawJson::parse(text) else { return false };
        // Trees do not tell numbers of many digits apart.
        !is_rounded(&text) && text.to_value() == *self.tree.get_or_init(|| self.value.to_value())
    }
}

/// Whether a block says anything at all.
fn is_usable(block: &ContentBlock) -> bool {
    match &block.kind {
        BlockKind::Text(text) => !text.trim().is_empty(),
        BlockKind::Image(_)
        | BlockKind::Audio(_)
        | BlockKind::Link(_)
        | BlockKind::Embedded(_)
        | BlockKind::Unknown(_) => true,
    }
}

fn is_media(block: &ContentBlock) -> bool {
    !matches!(block.kind, BlockKind::Text(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_the_value_and_nothing_else() {
        let value = RawJson::parse(r#"{"a":1,"b":[true]}"#).unwrap();
        let mirror = Mirror::of(&value);
        let is_mirror = |text: &str| mirror.shows(&ContentBlock::text(text));
        assert!(is_mirror(r#"{"a":1,"b":[true]}"#));
        assert!(is_mirror("{\n  \"b\": [true],\n  \"a\": 1\n}\n"));
        for text in
            [r#"{"a":1}"#, r#"{"a":1,"b":[true]} and more"#, "a is 1", "", "[", r#"{"a":1,"b":[false]}"#]
        {
            assert!(!is_mirror(text), "{text}");
        }
        // As doubles these are one number.
        let long = RawJson::parse(r#"{"id":12345678901234567890123}"#).unwrap();
        assert!(!Mirror::of(&long).shows(&ContentBlock::text(r#"{ "id": 12345678901234567890999 }"#)));
        assert!(Mirror::of(&long).shows(&ContentBlock::text(long.get())));
    }
}
