//! Each host rule that a pure decision can keep, kept. The names carry the rule's id; the table of rules in the workspace's tests
//! points here.

#![cfg(test)]

use expect_test::expect;
use serde_json::{Value, json};
use usher_engine::{
    Consumer, Extensions, Mode, Origin, declaration,
    routing::{self, Door, LegacyPolicy, Notice, Routing, RoutingInput, Source},
    selection::{Because, Consumers, Selection, SelectionError, SelectionInput, SelectionPolicy, select},
    validation::{Compiled, NotChecked, SchemaCache, Verdict},
};
use usher_protocol::{
    RawJson, Revision, Rule, codec,
    model::{Selector, Tool},
};

const NEW: Revision = Revision::V2026_12_01;

fn tools(revision: Revision, tool: Value) -> codec::ToolPage {
    codec::decode_tools(revision, &json!({"tools": [tool]}).into()).unwrap().0
}

fn tool(tool: Value) -> Tool {
    tools(NEW, tool).tools.remove(0)
}

/// A tool with all five variants and a View.
fn search() -> Tool {
    tool(json!({
        "name": "search", "inputSchema": {"type": "object"},
        "outputVariants": [
            {"audience": "assistant", "format": "content"},
            {"audience": "assistant", "format": "structured", "schema": {"type": "object"}},
            {"audience": "user", "format": "structured", "schema": {"type": "array"}},
            {"audience": "programmatic", "format": "structured", "schema": {"type": "object"}},
            {"audience": "io.modelcontextprotocol/ui", "format": "structured", "schema": {"type": "object"}},
        ],
        "_meta": {"ui": {"resourceUri": "ui://search/view.html"}},
    }))
}

fn plain() -> Tool {
    tool(json!({"name": "plain", "inputSchema": {"type": "object"},
        "outputVariants": [{"audience": "assistant", "format": "content"}]}))
}

fn old() -> Tool {
    tools(
        Revision::V2025_11_25,
        json!({"name": "old", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}),
    )
    .tools
    .remove(0)
}

struct Case {
    tool: Tool,
    revision: Revision,
    mode: Mode,
    origin: Origin,
    negotiated: Extensions,
    consumers: Consumers,
    policy: SelectionPolicy,
}

impl Case {
    fn new(tool: Tool, mode: Mode) -> Self {
        Self {
            tool,
            revision: NEW,
            mode,
            origin: Origin::Model,
            negotiated: Extensions::ui(),
            consumers: Consumers::WINDOW,
            policy: SelectionPolicy::default(),
        }
    }

    fn by(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    fn select(&self) -> Result<Selection, SelectionError> {
        select(SelectionInput {
            revision: self.revision,
            tool: &self.tool,
            mode: self.mode,
            origin: self.origin,
            consumers: self.consumers,
            negotiated: &self.negotiated,
            policy: &self.policy,
        })
    }

    fn asked(&self) -> String {
        names(self.select().unwrap().requested.as_deref())
    }

    fn route(&self, result: Value) -> Routing {
        let selection = self.select().unwrap();
        let (outcome, _) = codec::decode_outcome(self.revision, &result.into()).unwrap();
        routing::route(
            RoutingInput {
                selection: &selection,
                negotiated: &self.negotiated,
                has_view: self.tool.ui.is_some(),
                legacy: routing::legacy_policy_of(self.mode, None),
            },
            &outcome,
        )
    }
}

fn names(selectors: Option<&[Selector]>) -> String {
    match selectors {
        None => "nothing sent".to_owned(),
        Some(them) => them.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + "),
    }
}

fn content(audience: &str, text: &str) -> Value {
    json!({"audience": audience, "format": "content", "content": [{"type": "text", "text": text}]})
}

fn structured(audience: &str, value: Value) -> Value {
    json!({"audience": audience, "format": "structured", "structuredContent": value})
}

fn reached(routing: &Routing) -> Vec<String> {
    routing.deliveries.iter().map(|it| format!("{} -> {:?}", it.source.name(), it.to)).collect()
}

fn broken(routing: &Routing) -> Vec<String> {
    let rule = |it: Option<Rule>| it.map_or("policy", Rule::id);
    routing.defects.iter().map(|it| format!("{}: {}", rule(it.rule), it.text)).collect()
}

#[test]
fn h01_an_audience_that_was_not_negotiated_reaches_nobody() {
    let case = Case::new(search(), Mode::Chat);
    let routing =
        case.route(json!({"outputs": [content("com.example/watch", "x"), content("assistant", "a")]}));
    assert!(!reached(&routing).iter().any(|it| it.contains("watch")));
    assert_eq!(routing.withheld[0].rule, Some(Rule::H01));
}

#[test]
fn h02_a_block_annotation_does_not_move_an_output() {
    let case = Case::new(plain(), Mode::Chat);
    let block = json!({"type": "text", "text": "t", "annotations": {"audience": ["user"]}});
    let routing =
        case.route(json!({"outputs": [{"audience": "assistant", "format": "content", "content": [block]}]}));
    assert_eq!(reached(&routing), ["assistant/content -> Model"]);
}

#[test]
fn h03_a_pair_that_does_not_exist_reaches_nobody() {
    let case = Case::new(search(), Mode::Chat);
    let routing = case.route(
        json!({"outputs": [content("programmatic", "x"), content("io.modelcontextprotocol/ui", "y")]}),
    );
    assert_eq!(reached(&routing), Vec::<String>::new());
    assert!(routing.withheld.iter().all(|it| it.rule == Some(Rule::H03)));
    let odd = tool(json!({"name": "odd", "inputSchema": {"type": "object"}, "outputVariants": [
        {"audience": "assistant", "format": "content"}, {"audience": "programmatic", "format": "content"}]}));
    assert_eq!(declaration::check(&odd, &Extensions::ui()).unwrap().defects[0].rule, Some(Rule::H03));
}

#[test]
fn h04_each_variant_is_checked_against_its_own_schema() {
    let mut cache = SchemaCache::default();
    let of = |text: &str| RawJson::parse(text).unwrap();
    let object = cache.of("s/t", &Selector::PROGRAMMATIC, &of(r#"{"type":"object"}"#));
    let array = cache.of("s/t", &Selector::USER_STRUCTURED, &of(r#"{"type":"array"}"#));
    assert_eq!(object.check(&of("{}")), Verdict::Fits);
    assert!(matches!(array.check(&of("{}")), Verdict::Violates { .. }));
    // A changed schema is compiled anew.
    let changed = cache.of("s/t", &Selector::USER_STRUCTURED, &of(r#"{"type":"object"}"#));
    assert_eq!(changed.check(&of("{}")), Verdict::Fits);
}

#[test]
fn h06_a_pair_declared_twice_makes_the_declaration_invalid() {
    let twice = tool(json!({"name": "t", "inputSchema": {"type": "object"}, "outputVariants": [
        {"audience": "assistant", "format": "content"}, {"audience": "assistant", "format": "content"}]}));
    assert_eq!(Case::new(twice, Mode::Chat).select().unwrap_err().rule(), Some(Rule::H06));
}

#[test]
fn h07_a_declaration_without_assistant_content_is_rejected() {
    let without = tool(json!({"name": "t", "inputSchema": {"type": "object"}, "outputVariants": [
        {"audience": "user", "format": "content"}]}));
    assert_eq!(Case::new(without, Mode::Present).select().unwrap_err().rule(), Some(Rule::H07));
}

#[test]
fn h08_and_h12_an_extension_that_was_not_negotiated_is_neither_usable_nor_asked_for() {
    let mut case = Case::new(search(), Mode::App);
    case.negotiated = Extensions::default();
    assert_eq!(declaration::check(&case.tool, &case.negotiated).unwrap().defects[0].rule, Some(Rule::H08));
    assert_eq!(case.asked(), "assistant/content");
    let chosen = declaration::check_choice(&case.tool, &case.negotiated, &[Selector::ui()]);
    assert_eq!(chosen[0].rule, Some(Rule::H12));
}

#[test]
fn h09_a_tool_without_variants_is_refused_and_the_others_stay() {
    let list = json!({"tools": [
        {"name": "bad", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
        {"name": "good", "inputSchema": {"type": "object"}, "outputVariants": [{"audience": "assistant", "format": "content"}]}]});
    let (page, _) = codec::decode_tools(NEW, &list.into()).unwrap();
    assert_eq!(page.tools.len(), 1);
    assert_eq!(page.rejected[0].rule, Some(Rule::H09));
}

#[test]
fn h10_nothing_is_selected_under_an_earlier_revision() {
    for revision in
        [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28]
    {
        let mut case = Case::new(old(), Mode::Chat);
        case.revision = revision;
        let selection = case.select().unwrap();
        assert_eq!(selection.requested, None);
        assert_eq!(selection.reasons[0].rule, Some(Rule::H10));
        // Even a selection made by mistake does not reach the wire.
        let call = codec::CallRequest {
            name: "old".into(),
            arguments: json!({}).into(),
            requested: Some(vec![Selector::ASSISTANT_CONTENT]),
        };
        assert_eq!(codec::encode_call(revision, &call).unwrap().get(), r#"{"name":"old","arguments":{}}"#);
    }
}

#[test]
fn h11_and_h13_a_choice_is_of_declared_variants_and_each_once() {
    let mut case = Case::new(plain(), Mode::Custom);
    case.policy.custom = Some(vec![Selector::USER_CONTENT]);
    assert_eq!(case.select().unwrap_err().rule(), Some(Rule::H11));
    case.policy.custom = Some(vec![Selector::ASSISTANT_CONTENT, Selector::ASSISTANT_CONTENT]);
    assert_eq!(case.select().unwrap_err().rule(), Some(Rule::H13));
    case.policy.custom = Some(Vec::new());
    assert_eq!(case.select().unwrap_err().rule(), Some(Rule::H27));
}

#[test]
fn h14_the_modes_select() {
    let by_mode: Vec<String> = [Mode::Chat, Mode::Data, Mode::Code, Mode::Present, Mode::App, Mode::Custom]
        .into_iter()
        .map(|mode| format!("{mode:?}: {}", Case::new(search(), mode).asked()))
        .collect();
    expect![[r#"
        Chat: assistant/content + user/structured + io.modelcontextprotocol/ui/structured
        Data: assistant/structured + user/structured + io.modelcontextprotocol/ui/structured
        Code: programmatic/structured
        Present: user/structured
        App: assistant/content + io.modelcontextprotocol/ui/structured
        Custom: assistant/content + user/structured + io.modelcontextprotocol/ui/structured"#]]
    .assert_eq(&by_mode.join("\n"));
    assert_eq!(Case::new(search(), Mode::Chat).by(Origin::Script).asked(), "programmatic/structured");
    assert_eq!(
        Case::new(search(), Mode::Chat).by(Origin::View).asked(),
        "io.modelcontextprotocol/ui/structured"
    );
}

#[test]
fn h14_a_selection_does_not_depend_on_the_models_arguments() {
    // There is no way to pass them: the request's arguments travel beside the selection, as they are.
    let call = codec::CallRequest {
        name: "t".into(),
        arguments: json!({"requestedOutputs": [{"audience": "programmatic", "format": "structured"}]}).into(),
        requested: Some(vec![Selector::ASSISTANT_CONTENT]),
    };
    let wire = codec::encode_call(NEW, &call).unwrap().to_value();
    assert_eq!(wire["requestedOutputs"], json!([{"audience": "assistant", "format": "content"}]));
}

#[test]
fn h16_without_a_selection_exactly_the_fallback_is_expected() {
    let mut case = Case::new(plain(), Mode::Chat);
    assert_eq!(case.asked(), "nothing sent");
    let routing =
        case.route(json!({"outputs": [content("assistant", "a"), structured("programmatic", json!({}))]}));
    assert_eq!(reached(&routing), ["assistant/content -> Model"]);
    assert_eq!(broken(&routing), ["H16: programmatic/structured was not asked for"]);
    case = Case::new(search(), Mode::App);
    case.negotiated = Extensions::default();
    case.policy.omit_fallback_selection = true;
    assert_eq!(case.asked(), "nothing sent");
    assert_eq!(case.select().unwrap().expected, [Selector::ASSISTANT_CONTENT]);
}

#[test]
fn h17_structured_data_is_asked_for_only_where_it_can_be_presented() {
    let mut case = Case::new(search(), Mode::Chat);
    case.consumers.structured_renderer = false;
    case.consumers.view = false;
    assert_eq!(case.asked(), "assistant/content");
    let reasons = case.select().unwrap().reasons;
    assert!(reasons.iter().any(|it| it.rule == Some(Rule::H17) && it.because == Because::CannotPresent));
}

#[test]
fn h18_a_variant_without_a_schema_can_be_declined_visibly() {
    let mut case = Case::new(
        tool(json!({"name": "t", "inputSchema": {"type": "object"}, "outputVariants": [
            {"audience": "assistant", "format": "content"}, {"audience": "assistant", "format": "structured"}]})),
        Mode::Data,
    );
    assert_eq!(case.asked(), "assistant/structured");
    case.policy.decline_schemaless = true;
    assert_eq!(case.asked(), "assistant/content");
    assert!(case.select().unwrap().reasons.iter().any(|it| it.rule == Some(Rule::H18)));
}

#[test]
fn h19_deviations_are_named_and_what_is_safe_is_delivered() {
    let case = Case::new(search(), Mode::Chat);
    let routing = case.route(json!({"outputs": [
        content("assistant", "a"), content("assistant", "again"), structured("programmatic", json!({})),
        {"audience": "user", "format": "content"}]}));
    assert_eq!(reached(&routing), ["assistant/content -> Model"]);
    expect![[r#"
        H19: output 3: a content output has no content
        H19: assistant/content came more than once; the first is used
        H19: programmatic/structured was not asked for
        H19: user/structured was asked for and did not come
        H19: io.modelcontextprotocol/ui/structured was asked for and did not come"#]]
    .assert_eq(&broken(&routing).join("\n"));
}

#[test]
fn h20_the_order_of_outputs_means_nothing() {
    let case = Case::new(search(), Mode::App);
    let parts = [content("assistant", "a"), structured("io.modelcontextprotocol/ui", json!({}))];
    let one = case.route(json!({"outputs": [parts[0], parts[1]]}));
    let other = case.route(json!({"outputs": [parts[1], parts[0]]}));
    let sorted = |routing: &Routing| {
        let mut them = reached(routing);
        them.sort();
        (them, broken(routing))
    };
    assert_eq!(sorted(&one), sorted(&other));
}

#[test]
fn h21_to_h24_each_audience_has_one_consumer() {
    let mut case = Case::new(search(), Mode::Custom);
    case.policy.custom = Some(vec![
        Selector::ASSISTANT_CONTENT,
        Selector::ASSISTANT_STRUCTURED,
        Selector::USER_STRUCTURED,
        Selector::PROGRAMMATIC,
        Selector::ui(),
    ]);
    let routing = case.route(json!({"outputs": [
        content("assistant", "a"), structured("assistant", json!({})), structured("user", json!([])),
        structured("programmatic", json!({})), structured("io.modelcontextprotocol/ui", json!({}))]}));
    expect![[r#"
        assistant/content -> Model
        assistant/structured -> Model
        user/structured -> User
        io.modelcontextprotocol/ui/structured -> View"#]]
    .assert_eq(&reached(&routing).join("\n"));
    assert!(routing.deliveries.iter().all(|it| it.door == Door::Contract));
    assert_eq!(broken(&routing), Vec::<String>::new());
    // The model called: no program waits for what was made for one.
    assert_eq!(routing.withheld[0].rule, Some(Rule::H23));
    let script = Case::new(search(), Mode::Code).by(Origin::Script);
    let routing = script.route(json!({"outputs": [structured("programmatic", json!({}))]}));
    assert_eq!(reached(&routing), ["programmatic/structured -> Script"]);
}

#[test]
fn h26_metadata_of_an_earlier_result_is_not_shown_as_the_result() {
    assert_eq!(legacy(Mode::Chat, json!({"_meta": {"secret": "s"}})).matches("secret").count(), 0);
    let shown = legacy(Mode::Chat, json!({"answer": 42, "_meta": {"secret": "s"}}));
    assert!(shown.contains("42") && !shown.contains("secret"), "{shown}");
}

#[test]
fn h22_the_model_is_told_that_the_user_was_shown_something_and_nothing_more() {
    let case = Case::new(search(), Mode::Present);
    let routing = case.route(json!({"outputs": [structured("user", json!([1]))]}));
    assert_eq!(reached(&routing), ["user/structured -> User"]);
    assert_eq!(routing.notice, Some(Notice::ShownToUser));
}

#[test]
fn h25_an_output_goes_further_only_by_a_recorded_action() {
    let case = Case::new(plain(), Mode::Chat).by(Origin::User);
    let routing = case.route(json!({"outputs": [content("assistant", "a")]}));
    assert_eq!(routing.deliveries[0].to, Consumer::User);
    assert!(matches!(routing.deliveries[0].door, Door::UserAction(_)));
    // A script is never handed the model's words for want of its own variant.
    let error = Case::new(plain(), Mode::Code).by(Origin::Script).select().unwrap_err();
    assert!(matches!(error, SelectionError::NotDeclared { .. }));
}

#[test]
fn h26_result_metadata_reaches_nobody_but_the_extensions_own_entry() {
    let case = Case::new(search(), Mode::App);
    let routing = case.route(json!({
        "outputs": [content("assistant", "a"), structured("io.modelcontextprotocol/ui", json!({}))],
        "_meta": {"secret": "s", "io.modelcontextprotocol/ui": {"v": 1}, "io.modelcontextprotocol/serverInfo": {"name": "n"}}}));
    expect![[r#"
        assistant/content -> Model
        io.modelcontextprotocol/ui/structured -> View
        _meta io.modelcontextprotocol/ui -> View"#]]
    .assert_eq(&reached(&routing).join("\n"));
    assert_eq!(routing.withheld.len(), 1);
    assert_eq!(routing.withheld[0].rule, Some(Rule::H26));
    // Without a View's output the extension's entry has nobody to go to.
    let routing = Case::new(plain(), Mode::Chat)
        .route(json!({"outputs": [content("assistant", "a")], "_meta": {"io.modelcontextprotocol/ui": {}}}));
    assert_eq!(reached(&routing), ["assistant/content -> Model"]);
}

#[test]
fn h27_errors_are_not_substituted_and_empty_outputs_are_a_defect() {
    let case = Case::new(search(), Mode::Present);
    let routing = case.route(json!({"isError": true, "outputs": [content("assistant", "for the model")]}));
    assert_eq!(reached(&routing), Vec::<String>::new());
    assert_eq!(routing.notice, Some(Notice::FailedWithoutText));
    let routing = case.route(json!({"outputs": []}));
    assert_eq!(broken(&routing)[0], "H27: the result has an empty outputs array");
    assert_eq!(routing.notice, Some(Notice::NothingForModel));
}

#[test]
fn h05_an_error_is_not_held_to_the_success_schema() {
    let case = Case::new(search(), Mode::App);
    let error = json!({"isError": true, "outputs": [content("assistant", "no"), structured("io.modelcontextprotocol/ui", json!("no"))]});
    let routing = case.route(error);
    assert_eq!(routing.deliveries.len(), 2);
    assert_eq!(broken(&routing), Vec::<String>::new());
}

#[test]
fn h28_the_view_receives_its_output_only() {
    let case = Case::new(search(), Mode::Chat);
    let routing = case.route(json!({"outputs": [
        content("assistant", "a"), structured("user", json!([])), structured("io.modelcontextprotocol/ui", json!({"v": 1}))]}));
    let to_view: Vec<_> = routing.deliveries.iter().filter(|it| it.to == Consumer::View).collect();
    assert_eq!(to_view.len(), 1);
    assert_eq!(to_view[0].source, Source::Output(Selector::ui()));
    // Every place of a result that is not the View's holds the canary.
    let own = json!({"audience": "io.modelcontextprotocol/ui", "format": "structured", "structuredContent": {"v": 1},
        "content": [{"type": "text", "text": "CANARY"}], "_meta": {"a": "CANARY"}, "x": "CANARY"});
    let canary = json!({"a": "CANARY"});
    let routing = case.route(json!({"CANARY": "CANARY", "outputs": [
        content("assistant", "CANARY"), structured("assistant", canary.clone()), content("user", "CANARY"),
        structured("user", canary.clone()), structured("programmatic", canary.clone()),
        content("io.modelcontextprotocol/ui", "CANARY"), structured("com.example/other", canary), json!({"CANARY": true}), own],
        "_meta": {"CANARY": "CANARY", "io.modelcontextprotocol/ui": {"v": 2}, "io.modelcontextprotocol/ui2": "CANARY"}}));
    let to_view = routing.deliveries.iter().filter(|it| it.to == Consumer::View);
    let bytes: Vec<String> = to_view.map(|it| routing::payload_json(&it.payload).get().to_owned()).collect();
    assert_eq!(bytes, [r#"{"v":1}"#, r#"{"v":2}"#]);
}

#[test]
fn h29_the_view_of_an_earlier_revision_receives_the_result_as_it_came() {
    let listed = json!({"name": "old", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://a/b"}}});
    let mut case = Case::new(tools(Revision::V2025_11_25, listed).tools.remove(0), Mode::Chat);
    case.revision = Revision::V2025_11_25;
    let result =
        json!({"content": [{"type": "text", "text": "t"}], "structuredContent": {"n": 1}, "_meta": {"k": 1}});
    let routing = case.route(result.clone());
    let to_view = routing.deliveries.iter().find(|it| it.to == Consumer::View).unwrap();
    assert_eq!(routing::payload_json(&to_view.payload).to_value(), result);
}

#[test]
fn h30_an_app_only_tool_is_not_for_models_or_scripts() {
    let hidden = json!({"name": "refresh", "inputSchema": {"type": "object"},
        "outputVariants": [{"audience": "assistant", "format": "content"}, {"audience": "io.modelcontextprotocol/ui", "format": "structured"}],
        "_meta": {"ui": {"visibility": ["app"]}}});
    for origin in [Origin::Model, Origin::Script] {
        let error = Case::new(tool(hidden.clone()), Mode::Chat).by(origin).select().unwrap_err();
        assert_eq!(error.rule(), Some(Rule::H30));
    }
    assert_eq!(
        Case::new(tool(hidden), Mode::Chat).by(Origin::View).asked(),
        "io.modelcontextprotocol/ui/structured"
    );
    let for_model = json!({"name": "secret", "inputSchema": {"type": "object"},
        "outputVariants": [{"audience": "assistant", "format": "content"}], "_meta": {"ui": {"visibility": ["model"]}}});
    let error = Case::new(tool(for_model), Mode::Chat).by(Origin::View).select().unwrap_err();
    assert_eq!(error.rule(), Some(Rule::H30));
}

#[test]
fn h31_output_variants_under_an_earlier_revision_are_no_signal() {
    let listed = json!({"name": "t", "inputSchema": {"type": "object"},
        "outputVariants": [{"audience": "assistant", "format": "content"}]});
    let mut case = Case::new(tools(Revision::V2026_07_28, listed).tools.remove(0), Mode::Chat);
    case.revision = Revision::V2026_07_28;
    assert_eq!(case.asked(), "nothing sent");
    let routing =
        case.route(json!({"content": [{"type": "text", "text": "t"}], "outputs": [content("user", "x")]}));
    assert!(routing.deliveries.iter().all(|it| it.source.selector().is_none()));
}

#[test]
fn h33_hostile_names_stay_names() {
    let case = Case::new(search(), Mode::Chat);
    let routing = case.route(json!({"outputs": [content("assistant/content\u{202e}", "x"), content("", "y"), content("Assistant", "z")]}));
    assert_eq!(reached(&routing), Vec::<String>::new());
    assert!(routing.withheld.iter().all(|it| it.rule == Some(Rule::H01)));
}

#[test]
fn h34_no_audience_takes_the_place_of_another() {
    let case = Case::new(search(), Mode::App);
    let routing = case
        .route(json!({"outputs": [content("assistant", "a"), structured("programmatic", json!({"v": 1}))]}));
    assert!(!routing.deliveries.iter().any(|it| it.to == Consumer::View));
    assert_eq!(
        broken(&routing),
        [
            "H19: programmatic/structured was not asked for",
            "H19: io.modelcontextprotocol/ui/structured was asked for and did not come",
        ]
    );
}

/// What reaches the model and the user of a result of an earlier revision.
fn legacy(mode: Mode, result: Value) -> String {
    let mut case = Case::new(old(), mode);
    case.revision = Revision::V2025_11_25;
    let routing = case.route(result);
    let mut lines: Vec<String> = routing
        .deliveries
        .iter()
        .map(|it| format!("{:?}: {} {}", it.to, it.source.name(), routing::payload_json(&it.payload)))
        .collect();
    lines.extend(routing.notice.map(|it| format!("notice: {it:?}")));
    lines.extend(broken(&routing));
    lines.join("\n")
}

#[test]
fn earlier_results_without_usable_content_give_the_model_the_data() {
    expect![[r#"
        Model: structuredContent {"id":4021,"empty":[],"zero":0,"no":false}
        User: structuredContent {"id":4021,"empty":[],"zero":0,"no":false}"#]]
    .assert_eq(&legacy(
        Mode::Chat,
        json!({"content": [], "isError": false,
        "structuredContent": {"id": 4021, "empty": [], "zero": 0, "no": false}}),
    ));
}

#[test]
fn earlier_results_never_give_the_model_both_copies() {
    let result = json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}});
    expect![[r#"
        Model: content [{"type":"text","text":"{\"a\":1}"}]
        User: structuredContent {"a":1}"#]]
    .assert_eq(&legacy(Mode::Chat, result.clone()));
    expect![[r#"
        Model: structuredContent {"a":1}
        User: structuredContent {"a":1}"#]]
    .assert_eq(&legacy(Mode::Data, result));
}

#[test]
fn earlier_results_that_failed_say_so_in_their_text() {
    expect![[r#"
        Model: content [{"type":"text","text":"database connection refused"}]
        User: structuredContent {"answer":42}
        User: content [{"type":"text","text":"database connection refused"}]"#]]
    .assert_eq(&legacy(
        Mode::Data,
        json!({"isError": true, "structuredContent": {"answer": 42},
        "content": [{"type": "text", "text": "database connection refused"}]}),
    ));
}

#[test]
fn earlier_results_keep_a_picture_beside_data() {
    expect![[r#"
        Model: content [{"type":"image","data":"iVBO","mimeType":"image/png"}]
        User: structuredContent {"ok":true}
        User: content [{"type":"image","data":"iVBO","mimeType":"image/png"}]"#]]
    .assert_eq(&legacy(
        Mode::Chat,
        json!({"structuredContent": {"ok": true},
        "content": [{"type": "image", "data": "iVBO", "mimeType": "image/png"}]}),
    ));
}

#[test]
fn earlier_blocks_hinted_for_the_user_stay_with_the_user() {
    let user = |text: &str| json!({"type": "text", "text": text, "annotations": {"audience": ["user"]}});
    expect![[r#"
        User: content [{"type":"text","text":"u","annotations":{"audience":["user"]}}]
        notice: ShownToUser"#]]
    .assert_eq(&legacy(Mode::Chat, json!({"content": [user("u")]})));
    expect![[r#"
        Model: content [{"type":"text","text":"both"}]
        User: content [{"type":"text","text":"u","annotations":{"audience":["user"]}},{"type":"text","text":"both"}]"#]]
    .assert_eq(&legacy(Mode::Chat, json!({"content": [user("u"), {"type": "text", "text": "both"}]})));
}

#[test]
fn earlier_results_that_are_nothing_are_shown_as_they_came() {
    expect![[r#"
        User: the whole result {"answer":42}
        notice: NothingForModel
        policy: the result has neither content nor structuredContent"#]]
    .assert_eq(&legacy(Mode::Chat, json!({"answer": 42})));
}

#[test]
fn earlier_results_in_present_mode_are_for_the_user() {
    expect![[r#"
        User: content [{"type":"text","text":"t"}]
        notice: ShownToUser"#]]
    .assert_eq(&legacy(Mode::Present, json!({"content": [{"type": "text", "text": "t"}]})));
}

fn verdict(schema: &str, payload: &str) -> String {
    Compiled::new(&RawJson::parse(schema).unwrap()).check(&RawJson::parse(payload).unwrap()).line()
}

#[test]
fn the_dialect_is_the_one_that_the_schema_names() {
    // Draft-07 reads a list in `items` as a tuple; 2020-12 does not allow it.
    let tuple =
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"string"}]}"#;
    assert_eq!(verdict(tuple, r#"["a", 1]"#), "fits its schema");
    assert_eq!(
        verdict(
            r#"{"type":"object","properties":{"data":true,"n":{"type":["null","boolean"]}}}"#,
            r#"{"data":[1],"n":null}"#
        ),
        "fits its schema"
    );
    expect!["not validated: the dialect https://example.com/my-schema is not known"]
        .assert_eq(&verdict(r#"{"$schema":"https://example.com/my-schema"}"#, "{}"));
    // The hyphens are U+2011, as a public server wrote them.
    expect!["not validated: the dialect http://json-schema.org/draft\u{2011}07/schema# is not known"]
        .assert_eq(&verdict(
            "{\"$schema\":\"http://json-schema.org/draft\u{2011}07/schema#\",\"type\":\"object\"}",
            "{}",
        ));
}

#[test]
fn a_violation_names_its_place() {
    let schema = r##"{"$defs":{"DateTime":{"type":"object"}},"properties":{"at":{"allOf":[{"$ref":"#/$defs/DateTime"}]}}}"##;
    expect![[r#"does not fit its schema at /at: "2026-06-18T11:08:56.483Z" is not of type "object""#]]
        .assert_eq(&verdict(schema, r#"{"at":"2026-06-18T11:08:56.483Z"}"#));
    expect![[r#"does not fit its schema: "items" is a required property"#]]
        .assert_eq(&verdict(r#"{"required":["items"]}"#, "{}"));
}

#[test]
fn a_reference_that_leaves_the_schema_is_not_followed() {
    let verdict = Compiled::new(&RawJson::parse(r#"{"$ref":"https://example.com/other.json"}"#).unwrap())
        .check(&RawJson::parse("{}").unwrap());
    assert!(matches!(verdict, Verdict::NotChecked(NotChecked::Schema(_))), "{verdict:?}");
}

#[test]
fn a_policy_that_the_user_set_beats_the_mode() {
    assert_eq!(
        routing::legacy_policy_of(Mode::Data, Some(LegacyPolicy::ContentFirst)),
        LegacyPolicy::ContentFirst
    );
    assert_eq!(routing::legacy_policy_of(Mode::Data, None), LegacyPolicy::StructuredFirst);
}
