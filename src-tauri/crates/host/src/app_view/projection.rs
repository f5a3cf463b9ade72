//! What crosses to a View: the result, the tool and the list of tools, each without anything that is for another audience.
//!
//! The window's bridge checks none of this, so that these functions are the boundary (rules H24, H26, H28, H29). Deliberately absent:
//! the choice among the parts of a result, which routing makes, and validation. The engine checks the output with the schema of its own
//! variant and with no other (rule H34).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use usher_engine::Defect;
use usher_protocol::{
    RawJson, UI_EXTENSION,
    model::{Contract, Format, Selector, Tool, ToolAnnotations},
};

/// The selected output as a View receives it, for an output that routing delivered to it. `meta` is the extension's own entry of the
/// result's `_meta` and nothing else of it.
///
/// `content` is there and empty, so that this is also a valid reduced `CallToolResult` for the App SDKs of today.
///
/// # Errors
/// JSON could not be written.
pub fn selected_output(
    value: &RawJson,
    is_error: bool,
    meta: Option<&RawJson>,
) -> Result<(RawJson, Vec<Defect>), serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire<'a> {
        audience: &'static str,
        format: Format,
        content: [(); 0],
        structured_content: &'a RawJson,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<BTreeMap<&'static str, &'a RawJson>>,
    }
    let mut defects = Vec::new();
    if !value.is_object() {
        let text = "the output for the View is not an object; it is delivered as it is, but Views built with App SDKs before 2.0 drop it";
        defects.push(Defect { rule: None, text: text.to_owned() });
    }
    let wire = Wire {
        audience: UI_EXTENSION,
        format: Format::Structured,
        content: [],
        structured_content: value,
        is_error,
        meta: meta.map(|it| BTreeMap::from([(UI_EXTENSION, it)])),
    };
    RawJson::of(&wire).map(|it| (it, defects))
}

/// What a View receives of a tool's error that has no output for it: that there was one. What it says was written for other audiences
/// (rules H25, H27).
pub fn error_without_output() -> RawJson {
    let format = Format::Structured;
    serde_json::json!({"audience": UI_EXTENSION, "format": format, "content": [], "isError": true}).into()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// `toolInfo.tool` for a View: without the variants and schemas of other audiences, whose very shape tells of data that the View is not
/// given, and without `_meta` except the link to the View.
pub fn tool(tool: &Tool) -> (RawJson, Vec<Defect>) {
    let mut defects = Vec::new();
    let wire = tool_wire(tool, &mut defects);
    // Text, and JSON that was read before, always write.
    (RawJson::of(&wire).unwrap_or_else(|_| serde_json::json!({}).into()), defects)
}

/// Whether a View may call a tool: it is visible to Views and, where outputs are declared, has one for them. An assistant's output is
/// never given to a View in place of its own (rules H25, H34).
pub fn is_for_views(tool: &Tool) -> bool {
    let has_output = match &tool.contract {
        Contract::Variants(_) => tool.variant(&Selector::ui()).is_some(),
        Contract::Legacy { .. } => true,
    };
    tool.is_visible_to_view() && has_output
}

/// The result of `tools/list` for a View: the tools of its own server that a View may call, each as [`tool`] gives it.
pub fn tools_list(tools: &[Tool]) -> RawJson {
    #[derive(Serialize)]
    struct Wire<'a> {
        tools: Vec<ToolWire<'a>>,
    }
    let callable = tools.iter().filter(|it| is_for_views(it));
    let wire = Wire { tools: callable.map(|it| tool_wire(it, &mut Vec::new())).collect() };
    RawJson::of(&wire).unwrap_or_else(|_| serde_json::json!({"tools": []}).into())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolWire<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_variants: Option<Vec<VariantWire<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a ToolAnnotations>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<MetaWire<'a>>,
}

#[derive(Serialize)]
struct VariantWire<'a> {
    audience: &'static str,
    format: Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a RawJson>,
}

#[derive(Serialize)]
struct MetaWire<'a> {
    ui: UiWire<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UiWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_uri: Option<&'a str>,
    visibility: Vec<&'static str>,
}

fn tool_wire<'a>(tool: &'a Tool, defects: &mut Vec<Defect>) -> ToolWire<'a> {
    let (output_variants, output_schema) = match &tool.contract {
        Contract::Variants(_) => {
            let ui = tool.variant(&Selector::ui());
            let ui = ui.map(|it| VariantWire {
                audience: UI_EXTENSION,
                format: Format::Structured,
                schema: it.schema.as_ref(),
            });
            (Some(ui.into_iter().collect()), None)
        }
        Contract::Legacy { output_schema } => (None, output_schema.as_ref()),
    };
    let output_schema = output_schema.filter(|schema| {
        // App SDKs refuse the whole handshake over a schema that does not say so.
        let says_object = has_type_object(schema);
        if !says_object {
            defects.push(Defect {
                rule: None,
                text: format!(
                    "outputSchema of {} has no type \"object\"; the View is not told of it",
                    tool.name
                ),
            });
        }
        says_object
    });
    let annotations = Some(&tool.annotations).filter(|it| **it != ToolAnnotations::default());
    let meta = tool.ui.as_ref().map(|link| {
        let roles = [("model", link.visible_to_model), ("app", link.visible_to_app)];
        MetaWire {
            ui: UiWire {
                resource_uri: link.resource_uri.as_deref(),
                visibility: roles.into_iter().filter(|it| it.1).map(|it| it.0).collect(),
            },
        }
    });
    ToolWire {
        name: &tool.name,
        title: tool.title.as_deref(),
        description: tool.description.as_deref(),
        input_schema: input_schema(tool, defects),
        output_variants,
        output_schema,
        annotations,
        meta,
    }
}

/// The schema of the arguments; `type` is `"object"` in every case, since App SDKs refuse the whole handshake without it.
fn input_schema(tool: &Tool, defects: &mut Vec<Defect>) -> RawJson {
    if has_type_object(&tool.input_schema) {
        return tool.input_schema.clone();
    }
    let text = format!("inputSchema of {} has no type \"object\"; the View is told one that has", tool.name);
    defects.push(Defect { rule: None, text });
    let mut keys: BTreeMap<String, Box<RawValue>> = tool.input_schema.to().unwrap_or_default();
    if let Ok(object) = RawValue::from_string("\"object\"".to_owned()) {
        keys.insert("type".to_owned(), object);
    }
    RawJson::of(&keys).unwrap_or_else(|_| serde_json::json!({"type": "object"}).into())
}

fn has_type_object(schema: &RawJson) -> bool {
    schema.to_value().get("type").and_then(|it| it.as_str()) == Some("object")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};
    use usher_protocol::{Revision, codec};

    use super::*;

    fn tools(revision: Revision, tools: &Value) -> Vec<Tool> {
        codec::decode_tools(revision, &json!({"resultType": "complete", "tools": tools}).into())
            .unwrap()
            .0
            .tools
    }

    fn of(json: &str) -> RawJson {
        RawJson::parse(json).unwrap()
    }

    #[test]
    fn the_selected_output_is_a_valid_reduced_result_of_today() {
        let value = of(r#"{"rows":[12345678901234567890123]}"#);
        let (crossing, defects) = selected_output(&value, false, Some(&of(r#"{"z":1,"a":2}"#))).unwrap();
        expect![[r#"{"audience":"io.modelcontextprotocol/ui","format":"structured","content":[],"structuredContent":{"rows":[12345678901234567890123]},"_meta":{"io.modelcontextprotocol/ui":{"z":1,"a":2}}}"#]]
            .assert_eq(crossing.get());
        assert_eq!(defects, []);
    }

    #[test]
    fn errors_and_values_that_are_no_objects_cross_with_a_remark() {
        let (crossing, defects) = selected_output(&of("[1]"), true, None).unwrap();
        expect![[r#"{"audience":"io.modelcontextprotocol/ui","format":"structured","content":[],"structuredContent":[1],"isError":true}"#]]
            .assert_eq(crossing.get());
        assert_eq!(defects.len(), 1);
    }

    #[test]
    fn the_tool_is_told_without_the_shape_of_other_data() {
        let declared = json!([{
            "name": "chart", "title": "Chart", "description": "Draws.", "CANARY": 1,
            "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "annotations": {"readOnlyHint": true, "CANARY": 1},
            "outputSchema": {"type": "object", "title": "CANARY"},
            "icons": [{"src": "https://CANARY"}],
            "_meta": {"ui": {"resourceUri": "ui://chart", "CANARY": 1}, "vendor": "CANARY"},
            "outputVariants": [
                {"audience": "assistant", "format": "content"},
                {"audience": "assistant", "format": "structured", "schema": {"title": "CANARY"}},
                {"audience": "programmatic", "format": "structured", "schema": {"title": "CANARY"}},
                {"audience": "user", "format": "structured", "schema": {"title": "CANARY"}},
                {"audience": "com.example/other", "format": "structured", "schema": {"title": "CANARY"}},
                {"audience": "io.modelcontextprotocol/ui", "format": "structured", "schema": {"title": "mine"}}
            ]
        }]);
        let tools = tools(Revision::V2026_12_01, &declared);
        let (told, defects) = tool(&tools[0]);
        assert!(!told.get().contains("CANARY") && !tools_list(&tools).get().contains("CANARY"));
        assert_eq!(defects, []);
        expect![[r#"{"name":"chart","title":"Chart","description":"Draws.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"outputVariants":[{"audience":"io.modelcontextprotocol/ui","format":"structured","schema":{"title":"mine"}}],"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://chart","visibility":["model","app"]}}}"#]]
            .assert_eq(told.get());
    }

    #[test]
    fn the_list_has_the_tools_that_a_view_may_call() {
        let declared = json!([
            {"name": "both", "inputSchema": {"type": "object"}},
            {"name": "app", "inputSchema": {"type": "object"}, "_meta": {"ui": {"visibility": ["app"]}}},
            {"name": "model", "inputSchema": {"type": "object"}, "_meta": {"ui": {"visibility": ["model"]}}},
            {"name": "nobody", "inputSchema": {"type": "object"}, "_meta": {"ui": {"visibility": []}}}
        ]);
        let list = tools_list(&tools(Revision::V2025_11_25, &declared)).to_value();
        let names: Vec<&str> =
            list["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["both", "app"]);
    }

    #[test]
    fn schemas_that_would_break_the_handshake_are_mended() {
        let declared = json!([{"name": "odd", "inputSchema": {"properties": {"a": {}}}, "outputSchema": {"type": "array"}}]);
        let (told, defects) = tool(&tools(Revision::V2025_11_25, &declared)[0]);
        expect![[r#"{"name":"odd","inputSchema":{"properties":{"a":{}},"type":"object"}}"#]]
            .assert_eq(told.get());
        assert_eq!(defects.len(), 2);
    }
}
