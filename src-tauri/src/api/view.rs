//! From the host's records to what the window is told.
//!
//! Deliberately absent: decisions and texts of its own. It renames and abridges.

use usher_engine::{
    Consumer, Defect, Mode, Origin,
    ledger::{Half, Kind},
    routing::{Door, LegacyPolicy},
    validation::Verdict,
};
use usher_host::{
    conversation::{
        AnswerState, ApprovalRule, CallRecord, CallState, Channel, DoorKind, ExchangeRecord, Host, ItemBody,
        ItemRecord, LedgerRecord, ModelEntry, Notice, NoticeLevel, Preferences, Preview, ScriptLine,
        ServerPhase, ServerStatus, Shown, SourceKind, SpanRecord, StoredLaunch, Summary, TurnState,
        WireRecord,
    },
    payload::{self, JsonKind, MediaKind, decode_base64, identify, safe_name},
};
use usher_protocol::{
    UI_EXTENSION,
    common::{BlockKind, ContentBlock, ResourceBody},
    model::{Audience, Contract, Selector},
};

use super::types as view;

mod prompt;

pub(super) use prompt::{brought, completion, fetched, prompts, resources};

/// A pair with the colour that it has everywhere.
pub(super) fn chip(selector: &Selector) -> view::AudienceChip {
    view::AudienceChip {
        audience: selector.audience.to_string(),
        format: selector.format.to_string(),
        color: color(&selector.audience),
    }
}

fn color(audience: &Audience) -> view::AudienceColor {
    match audience {
        Audience::Assistant => view::AudienceColor::Assistant,
        Audience::User => view::AudienceColor::User,
        Audience::Programmatic => view::AudienceColor::Programmatic,
        Audience::Extension(id) if id == UI_EXTENSION => view::AudienceColor::View,
        Audience::Extension(_) => view::AudienceColor::Other,
    }
}

pub(super) fn mode(mode: Mode) -> view::ModeName {
    match mode {
        Mode::Chat => view::ModeName::Chat,
        Mode::Data => view::ModeName::Data,
        Mode::Code => view::ModeName::Code,
        Mode::Present => view::ModeName::Present,
        Mode::App => view::ModeName::App,
        Mode::Custom => view::ModeName::Custom,
    }
}

pub(super) fn mode_of(mode: view::ModeName) -> Mode {
    match mode {
        view::ModeName::Chat => Mode::Chat,
        view::ModeName::Data => Mode::Data,
        view::ModeName::Code => Mode::Code,
        view::ModeName::Present => Mode::Present,
        view::ModeName::App => Mode::App,
        view::ModeName::Custom => Mode::Custom,
    }
}

pub(super) fn summary(it: Summary) -> view::ConversationSummary {
    view::ConversationSummary {
        id: it.id,
        title: it.title,
        updated_ms: it.updated_ms,
        message_count: it.message_count,
        mode: mode(it.mode),
        model_id: it.model_id,
        by_command: it.by_command,
        busy: it.busy,
    }
}

pub(super) fn turn(it: TurnState) -> view::TurnView {
    match it {
        TurnState::Idle => view::TurnView::Idle,
        TurnState::Waiting => view::TurnView::Waiting,
        TurnState::Streaming => view::TurnView::Streaming,
        TurnState::Tools { running } => view::TurnView::Tools { running },
        TurnState::Approval { call_id } => view::TurnView::Approval { call_id },
        TurnState::Failed(it) => {
            view::TurnView::Failed { what: it.what, safe: it.safe, todo: it.todo, can_retry: it.can_retry }
        }
    }
}

pub(super) fn model(it: ModelEntry) -> view::ModelView {
    view::ModelView {
        id: it.id,
        name: it.name,
        provider: it.provider,
        is_demo: it.is_demo,
        context_tokens: it.context_tokens,
        takes_images: it.takes_images,
        base_url: it.base_url,
        has_key: it.has_key,
    }
}

pub(super) fn settings(it: Preferences) -> view::Settings {
    view::Settings {
        theme: match it.theme.as_str() {
            "light" => view::Theme::Light,
            "dark" => view::Theme::Dark,
            _ => view::Theme::System,
        },
        omit_fallback_selection: it.omit_fallback_selection,
        decline_schemaless: it.decline_schemaless,
        tour_done: it.tour_done,
    }
}

pub(super) fn preferences(it: view::Settings) -> Preferences {
    Preferences {
        theme: match it.theme {
            view::Theme::System => "system",
            view::Theme::Light => "light",
            view::Theme::Dark => "dark",
        }
        .to_owned(),
        omit_fallback_selection: it.omit_fallback_selection,
        decline_schemaless: it.decline_schemaless,
        tour_done: it.tour_done,
    }
}

pub(super) fn notice(it: Notice) -> view::NoticeView {
    view::NoticeView {
        id: it.id,
        level: match it.level {
            NoticeLevel::Info => view::NoticeLevel::Info,
            NoticeLevel::Warning => view::NoticeLevel::Warning,
            NoticeLevel::Error => view::NoticeLevel::Error,
        },
        what: it.what,
        safe: it.safe,
        todo: it.todo,
    }
}

fn rule_text(defect: &Defect) -> view::RuleText {
    view::RuleText { rule: defect.rule.map(|it| it.id().to_owned()), text: defect.text.clone() }
}

pub(super) fn server(host: &Host, it: ServerStatus) -> view::ServerView {
    let tools = it.tools.iter().map(|listed| tool(host, &it.id, listed)).collect();
    view::ServerView {
        launch: match &it.spec.launch {
            StoredLaunch::Stdio { .. } => "stdio".to_owned(),
            StoredLaunch::Http { .. } => "http".to_owned(),
        },
        command: it.spec.line(),
        pinned_revision: it.spec.pinned.map(|it| it.to_string()),
        offers_earlier: it.offers_earlier.map(|it| it.to_string()),
        sign_in: it.sign_in.map(|it| view::SignInView { signed_in_at: it.signed_in_at, waiting: it.waiting }),
        state: match it.state {
            ServerPhase::Off => view::ServerState::Off,
            ServerPhase::Starting => view::ServerState::Starting,
            ServerPhase::Ready => view::ServerState::Ready,
            ServerPhase::Restarting(attempt) => view::ServerState::Restarting { attempt },
            ServerPhase::Failed(what, todo) => view::ServerState::Failed { what, todo },
        },
        revision: it.revision.map(|it| it.to_string()),
        server_info: it.server_info,
        negotiation: it.negotiation,
        tools,
        rejected_tools: it
            .rejected
            .into_iter()
            .map(|it| view::RejectedToolView {
                name: it.name,
                rule: it.rule.map(|it| it.id().to_owned()),
                why: it.why,
            })
            .collect(),
        stderr_tail: it.stderr_tail,
        noise_lines: u32::try_from(it.noise_lines).unwrap_or(u32::MAX),
        id: it.id,
        name: it.name,
        enabled: it.enabled,
    }
}

fn tool(host: &Host, server_id: &str, listed: &usher_host::conversation::ListedTool) -> view::ToolView {
    let it = &listed.tool;
    let variants = match &it.contract {
        Contract::Variants(variants) => variants
            .iter()
            .map(|it| view::VariantView { chip: chip(&it.selector), has_schema: it.schema.is_some() })
            .collect(),
        Contract::Legacy { .. } => Vec::new(),
    };
    view::ToolView {
        name: it.name.clone(),
        title: it.title.clone(),
        description: it.description.clone(),
        read_only: it.annotations.read_only_hint == Some(true),
        destructive: it.annotations.destructive_hint == Some(true),
        visible_to_model: it.is_visible_to_model(),
        visible_to_view: it.is_visible_to_view(),
        has_view: it.ui.as_ref().is_some_and(|it| it.resource_uri.is_some()),
        variants,
        legacy: matches!(it.contract, Contract::Legacy { .. }),
        defects: listed.defects.iter().map(rule_text).collect(),
        input_schema_json: it.input_schema.get().to_owned(),
        approval: match host.approval_of(server_id, &it.name) {
            ApprovalRule::Ask => view::ApprovalRule::Ask,
            ApprovalRule::AllowTool => view::ApprovalRule::AllowTool,
            ApprovalRule::AllowServer => view::ApprovalRule::AllowServer,
            ApprovalRule::Never => view::ApprovalRule::Never,
        },
        legacy_policy: match host.legacy_policy(server_id, &it.name).unwrap_or_default() {
            LegacyPolicy::ContentFirst => view::LegacyPolicyView::ContentFirst,
            LegacyPolicy::StructuredFirst => view::LegacyPolicyView::StructuredFirst,
        },
    }
}

/// An entry with the call that it shows.
pub(super) async fn item(host: &Host, item: ItemRecord, call: Option<CallRecord>) -> view::Item {
    let kind = match item.body {
        ItemBody::User => view::ItemKind::User { text: item.text },
        ItemBody::Assistant(answer) => view::ItemKind::Assistant {
            text: item.text,
            state: match answer.state {
                AnswerState::Streaming => view::AnswerState::Streaming,
                AnswerState::Done => view::AnswerState::Done,
                AnswerState::Stopped => view::AnswerState::Stopped,
                AnswerState::Broken(why) => view::AnswerState::Broken { why },
                AnswerState::CutShort => view::AnswerState::CutShort,
            },
            model: answer.model,
            usage: answer
                .usage
                .map(|(prompt_tokens, answer_tokens)| view::UsageView { prompt_tokens, answer_tokens }),
        },
        ItemBody::Call { .. } => match call {
            Some(call) => view::ItemKind::ToolCall { call: Box::new(tool_call(host, call).await) },
            None => view::ItemKind::Note { text: "The record of a call is missing.".to_owned() },
        },
        ItemBody::Door(door) => view::ItemKind::Door {
            text: door.label,
            chip: door.selector.as_ref().map(chip),
            bytes: door.bytes,
            is_message: door.kind == DoorKind::ViewMessage,
            pictures: match door.pictures {
                Some(handle) => Some(view::PicturesView { blocks: blocks_of(host, &handle).await, handle }),
                None => None,
            },
            words: match door.kind {
                DoorKind::ViewMessage | DoorKind::ViewContext => Some(item.text),
                DoorKind::ShownToModel => None,
            },
        },
        ItemBody::Brought(it) => brought(host, it).await,
        ItemBody::Note => view::ItemKind::Note { text: item.text },
    };
    view::Item { id: item.id, seq: u64::try_from(item.seq).unwrap_or_default(), at_ms: item.at_ms, kind }
}

async fn tool_call(host: &Host, call: CallRecord) -> view::ToolCallView {
    let slot = slot(host, &call);
    let mut shown = Vec::new();
    for output in call.shown {
        shown.push(shown_output(host, output).await);
    }
    view::ToolCallView {
        number: call.number,
        origin: origin(call.origin),
        state: call_state(call.state),
        mode: mode(call.mode),
        revision: call.revision.map(|it| it.to_string()),
        requested: call.requested.iter().flatten().map(chip).collect(),
        deliveries: call
            .deliveries
            .into_iter()
            .map(|it| view::DeliveryView {
                consumer: consumer(it.to),
                chip: it.source.selector().map(chip),
                what: it.source.name(),
                bytes: it.bytes,
                handle: it.handle,
                door: door(&it.door),
                verdict: it.verdict.map(verdict),
                how: it.how,
            })
            .collect(),
        withheld: call
            .withheld
            .into_iter()
            .map(|it| view::WithheldView {
                chip: it.selector.as_ref().map(chip),
                what: it.what,
                bytes: it.bytes,
                rule: it.rule.map(|it| it.id().to_owned()),
                why: it.why,
                handle: it.handle,
            })
            .collect(),
        defects: call.defects.iter().map(rule_text).collect(),
        shown,
        view: slot,
        elapsed_ms: call
            .ended_ms
            .map(|end| u64::try_from(end - call.started_ms - call.waited_ms).unwrap_or_default()),
        call_id: call.id,
        server_id: call.server_id,
        server_name: call.server_name,
        tool: call.tool,
        of_view: call.of_view,
        title: call.title,
        arguments_json: call.arguments.get().to_owned(),
    }
}

fn slot(host: &Host, call: &CallRecord) -> Option<view::ViewSlot> {
    let it = call.view.as_ref()?;
    let why_not = host.why_no_view(call);
    Some(view::ViewSlot {
        resource_uri: it.resource_uri.clone(),
        can_open: why_not.is_none(),
        // One that ended with its page can be opened, and waits for the user all the same.
        why_not: why_not.map(str::to_owned).or_else(|| host.view_stopped(&call.id)),
        from_history: !call.state.is_open() && !host.is_of_this_run(call.started_ms),
        page_kept: it.resource_handle.is_some(),
        refused: it.refused.clone(),
    })
}

fn origin(it: Origin) -> view::CallOrigin {
    match it {
        Origin::Model => view::CallOrigin::Model,
        Origin::Script => view::CallOrigin::Script,
        Origin::View => view::CallOrigin::View,
        Origin::User => view::CallOrigin::User,
    }
}

fn call_state(it: CallState) -> view::CallState {
    match it {
        CallState::Writing => view::CallState::Writing,
        CallState::AwaitingApproval(why) => view::CallState::AwaitingApproval { why },
        CallState::Running(progress) => view::CallState::Running {
            progress: progress.map(|it| view::ProgressView {
                done: it.done,
                total: it.total,
                message: it.message,
            }),
        },
        CallState::Done => view::CallState::Done,
        CallState::ToolError => view::CallState::ToolError,
        CallState::Failed { what, todo } => view::CallState::Failed { what, todo },
        CallState::Refused => view::CallState::Refused,
        CallState::Cancelled => view::CallState::Cancelled,
        CallState::Interrupted => view::CallState::Interrupted,
    }
}

fn consumer(it: Consumer) -> view::ConsumerName {
    match it {
        Consumer::Model => view::ConsumerName::Model,
        Consumer::User => view::ConsumerName::User,
        Consumer::Script => view::ConsumerName::Script,
        Consumer::View => view::ConsumerName::View,
    }
}

fn door(it: &Door) -> String {
    match it {
        Door::Contract => "contract".to_owned(),
        Door::Policy(name) | Door::UserAction(name) => name.clone(),
    }
}

fn verdict(it: Verdict) -> view::VerdictView {
    match it {
        Verdict::Fits => view::VerdictView::Fits,
        Verdict::Violates { problems, .. } => view::VerdictView::Violates {
            problems: problems.into_iter().map(|it| format!("{}: {}", it.pointer, it.message)).collect(),
        },
        Verdict::NotChecked(why) => view::VerdictView::NotChecked { why: why.to_string() },
    }
}

async fn shown_output(host: &Host, it: Shown) -> view::ShownOutput {
    match it {
        Shown::Blocks { handle } => {
            view::ShownOutput::Blocks { blocks: blocks_of(host, &handle).await, handle }
        }
        Shown::Table { handle, columns, rows, bytes } => view::ShownOutput::Table {
            handle,
            columns: columns
                .into_iter()
                .map(|it| view::ColumnView { key: it.key, title: it.title, numeric: it.numeric })
                .collect(),
            rows,
            bytes,
        },
        Shown::Properties { handle, bytes } => view::ShownOutput::Properties { handle, bytes },
        Shown::Json { handle, bytes } => view::ShownOutput::Json { handle, bytes },
    }
}

async fn blocks_of(host: &Host, handle: &str) -> Vec<view::BlockView> {
    let blocks = host.blocks(handle).await.unwrap_or_default();
    blocks.iter().enumerate().map(|(index, it)| block(handle, index, it)).collect()
}

/// The address of a block's bytes. Windows spells custom schemes as hosts.
pub(super) fn media_url(handle: &str, index: usize) -> String {
    let base = if cfg!(windows) { "http://usher-media.localhost" } else { "usher-media://localhost" };
    format!("{base}/{handle}/{index}")
}

fn block(handle: &str, index: usize, block: &ContentBlock) -> view::BlockView {
    match &block.kind {
        BlockKind::Text(text) => view::BlockView::Text { text: text.clone() },
        BlockKind::Image(it) => media_block(handle, index, &it.data, Some(&it.mime), "picture"),
        BlockKind::Audio(it) => media_block(handle, index, &it.data, Some(&it.mime), "sound"),
        BlockKind::Link(it) => view::BlockView::Link {
            uri: it.uri.clone(),
            name: it.title.clone().unwrap_or_else(|| it.name.clone()),
            description: it.description.clone(),
            mime: it.mime.clone(),
            size: it.size,
        },
        BlockKind::Embedded(it) => match &it.body {
            ResourceBody::Text(text) => view::BlockView::ResourceText {
                uri: it.uri.clone(),
                mime: it.mime.clone(),
                text: text.clone(),
            },
            ResourceBody::Blob(data) => media_block(handle, index, data, it.mime.as_deref(), &it.uri),
        },
        BlockKind::Unknown(raw) => view::BlockView::Unknown { json: raw.get().to_owned() },
    }
}

/// What a piece of media is, told from its first bytes and not from what the server calls it.
fn media_block(handle: &str, index: usize, data: &str, declared: Option<&str>, uri: &str) -> view::BlockView {
    const HEAD: usize = 4 * 1024;
    let head = &data[..data.floor_char_boundary(HEAD.min(data.len() / 4 * 4))];
    let media = identify(&decode_base64(head, HEAD).unwrap_or_default(), declared);
    let bytes = (data.len() / 4 * 3) as u64;
    let (url, mime) = (media_url(handle, index), media.mime);
    match media.kind {
        MediaKind::Image => view::BlockView::Image { url, mime, bytes },
        MediaKind::Audio => view::BlockView::Audio { url, mime, bytes },
        MediaKind::Video => view::BlockView::Video { url, mime, bytes },
        MediaKind::File => view::BlockView::File {
            handle: handle.to_owned(),
            index: u32::try_from(index).unwrap_or(u32::MAX),
            name: safe_name(uri, "file"),
            mime,
            bytes,
        },
    }
}

pub(super) fn ledger(it: LedgerRecord) -> view::LedgerRow {
    let line = it.entry.line();
    view::LedgerRow {
        seq: u64::try_from(it.seq).unwrap_or_default(),
        at_ms: it.at_ms,
        call_id: it.call_id,
        icon: match line.kind {
            Kind::Asked => view::LedgerIcon::Asked,
            Kind::Came => view::LedgerIcon::Came,
            Kind::Fits => view::LedgerIcon::Fits,
            Kind::Defect => view::LedgerIcon::Defect,
            Kind::Withheld => view::LedgerIcon::Withheld,
            Kind::Delivered => view::LedgerIcon::Delivered,
            Kind::Policy => view::LedgerIcon::Policy,
            Kind::Door => view::LedgerIcon::Door,
            Kind::Sent => view::LedgerIcon::Sent,
            Kind::Note => view::LedgerIcon::Note,
        },
        text: line.text,
        detail: line.detail,
        rule: line.rule.map(|it| it.id().to_owned()),
        color: line.audience.as_ref().map(color),
        reasons: line.reasons,
        handle: line.handle,
        reads: it.entry.read_half().map(|it| match it {
            Half::Content => view::LegacyPolicyView::ContentFirst,
            Half::Structured => view::LegacyPolicyView::StructuredFirst,
        }),
    }
}

pub(super) fn exchange(it: ExchangeRecord) -> view::ExchangeView {
    view::ExchangeView {
        id: it.id,
        at_ms: it.at_ms,
        model: it.model,
        url: it.url,
        bytes: it.bytes,
        sha256: it.sha256,
        attempts: it.attempts,
        outcome: it.outcome,
        tokens: it.measure.tokens,
        context_tokens: it.measure.context_tokens,
        share: it
            .share
            .into_iter()
            .map(|it| view::SourceShare { source: source(it.kind), label: it.label, bytes: it.bytes })
            .collect(),
        kept_out_bytes: it.measure.kept_out_bytes,
        asked_by: it.asked_by,
    }
}

fn source(it: SourceKind) -> view::SourceKind {
    match it {
        SourceKind::Envelope => view::SourceKind::Envelope,
        SourceKind::Host => view::SourceKind::Host,
        SourceKind::Tools => view::SourceKind::Tools,
        SourceKind::Messages => view::SourceKind::Messages,
        SourceKind::Results => view::SourceKind::Results,
    }
}

/// Spans with the offsets that a script of the page cuts text by.
pub(super) fn spans(body: &str, spans: Vec<SpanRecord>) -> Vec<view::BodySpan> {
    let mut at = (0, 0_u32);
    let mut utf16 = |byte: usize| {
        let more: usize = body.get(at.0..byte).unwrap_or_default().chars().map(char::len_utf16).sum();
        at = (byte, at.1.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)));
        at.1
    };
    spans
        .into_iter()
        .map(|it| {
            let (start, end) = (utf16(it.start), utf16(it.end));
            view::BodySpan { start, end, source: source(it.kind), label: it.label, item_id: it.item_id }
        })
        .collect()
}

pub(super) fn script_line(it: ScriptLine) -> view::ScriptLine {
    match it {
        ScriptLine::Log(level, text) => view::ScriptLine::Log { level: level.as_str().to_owned(), text },
        ScriptLine::Call { call_id, text } => view::ScriptLine::Call { call_id, text },
        ScriptLine::Returned(json) => view::ScriptLine::Returned { json },
        ScriptLine::Failed(message) => view::ScriptLine::Failed { message },
        ScriptLine::Stopped(why) => view::ScriptLine::Stopped { why },
    }
}

pub(super) fn preview(it: Preview) -> view::SelectionPreview {
    let declared = match &it.tool.contract {
        Contract::Variants(variants) => variants.iter().map(|it| chip(&it.selector)).collect(),
        Contract::Legacy { .. } => Vec::new(),
    };
    let (requested, reasons) = match it.selection {
        Ok(selection) => {
            let reasons = selection
                .reasons
                .iter()
                .map(|it| view::RuleText { rule: it.rule.map(|it| it.id().to_owned()), text: it.line() })
                .collect();
            (selection.expected.iter().map(chip).collect(), reasons)
        }
        Err(defect) => (Vec::new(), vec![rule_text(&defect)]),
    };
    view::SelectionPreview {
        server_id: it.server_id,
        tool: it.tool.name.clone(),
        legacy: matches!(it.tool.contract, Contract::Legacy { .. }),
        requested,
        reasons,
        declared,
    }
}

pub(super) fn wire(it: WireRecord) -> view::WireLine {
    view::WireLine {
        seq: it.seq,
        at_ms: it.at_ms,
        server_id: it.server_id,
        channel: match it.channel {
            Channel::ToServer => view::WireChannel::ToServer,
            Channel::FromServer => view::WireChannel::FromServer,
            Channel::Stderr => view::WireChannel::Stderr,
            Channel::Noise => view::WireChannel::Noise,
            Channel::Host => view::WireChannel::Host,
        },
        title: it.title,
        text: it.text,
        bytes: it.bytes as u64,
    }
}

pub(super) fn table(it: payload::TableRows) -> view::TableWindow {
    let cell = |it: payload::Cell| match it {
        payload::Cell::Absent => view::Cell::Absent,
        payload::Cell::Null => view::Cell::Null,
        payload::Cell::Text(text) => view::Cell::Text { text },
        payload::Cell::Number(text) => view::Cell::Number { text },
        payload::Cell::Bool(value) => view::Cell::Bool { value },
        payload::Cell::Nested { text, pointer } => view::Cell::Nested { text, pointer },
    };
    view::TableWindow {
        matching: it.matching as u64,
        total: it.total as u64,
        offset: it.offset as u64,
        rows: it.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
    }
}

pub(super) fn children(it: payload::JsonChildren) -> view::JsonChildren {
    let name = |kind: JsonKind| kind.name().to_owned();
    view::JsonChildren {
        pointer: it.pointer,
        kind: name(it.kind),
        count: it.count as u64,
        offset: it.offset as u64,
        children: it
            .children
            .into_iter()
            .map(|it| view::JsonChild {
                key: it.key,
                pointer: it.pointer,
                kind: name(it.kind),
                text: it.text,
                count: it.count as u64,
            })
            .collect(),
    }
}
