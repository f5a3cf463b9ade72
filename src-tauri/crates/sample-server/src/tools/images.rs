//! `make_images`: pictures, a sound, a link and a text for the person; for the model, what was made.

use serde::Deserialize;
use serde_json::json;
use usher_protocol::{
    common::{BlockKind, ContentBlock, EmbeddedResource, ResourceBody, ResourceLink},
    model::{Selector, ToolAnnotations},
};
use usher_server::{AnyTool, Call, DeclarationError, Failure, ToolBuilder};

use crate::{data, resources::PICTURE_URI};

#[derive(Debug, Deserialize)]
struct Arguments {
    prompt: String,
    #[serde(default = "two")]
    count: usize,
}

fn two() -> usize {
    2
}

pub(super) fn make_images() -> Result<Box<dyn AnyTool>, DeclarationError> {
    ToolBuilder::new(
        "make_images",
        "Draws one or two pictures of a landscape for the person, with a short chime.",
    )
    .title("Make pictures")
    .input(json!({
        "type": "object",
        "properties": {
            "prompt": {"type": "string", "description": "What to draw"},
            "count": {"type": "integer", "minimum": 1, "maximum": 2, "default": 2}
        },
        "required": ["prompt"]
    }))
    .annotations(ToolAnnotations { idempotent_hint: Some(true), ..super::reads() })
    .content(Selector::ASSISTANT_CONTENT, |it: &Arguments| vec![ContentBlock::text(summary(it))])
    .content(Selector::USER_CONTENT, blocks)
    .handler(|call: Call| async move {
        let arguments = call.arguments::<Arguments>()?;
        if (1..=2).contains(&arguments.count) {
            Ok(arguments)
        } else {
            Err(Failure::of(format!("count is {}; it can be 1 or 2.", arguments.count)))
        }
    })
}

fn summary(made: &Arguments) -> String {
    let pictures = match made.count {
        1 => "one picture (a sunrise over hills and water, PNG, 480 by 320)",
        _ => {
            "two pictures (a sunrise over hills and water, PNG, and a moonrise over a lake, WebP, each 480 by 320)"
        }
    };
    format!("I made {pictures} for {:?}, with a short chime.", made.prompt)
}

fn blocks(made: &Arguments) -> Vec<ContentBlock> {
    let block = |kind| ContentBlock { kind, annotations: None };
    let pictures = [data::sunrise(), data::moonrise()].into_iter().take(made.count);
    let mut blocks = vec![ContentBlock::text(format!("**{}**", made.prompt))];
    blocks.extend(pictures.map(|it| block(BlockKind::Image(it))));
    blocks.push(block(BlockKind::Audio(data::chime())));
    blocks.push(block(BlockKind::Link(ResourceLink {
        uri: PICTURE_URI.to_owned(),
        name: "sunrise.png".to_owned(),
        title: Some("Sunrise, the original".to_owned()),
        description: Some("The first picture, to save".to_owned()),
        mime: Some("image/png".to_owned()),
        size: u64::try_from(data::SUNRISE.len()).ok(),
    })));
    blocks.push(block(BlockKind::Embedded(EmbeddedResource {
        uri: "sample://art/about.md".to_owned(),
        mime: Some("text/markdown".to_owned()),
        body: ResourceBody::Text(
            "# How it was drawn\n\nHills are sums of five sine waves; the light falls off with the square of the distance to the sun.\n"
                .to_owned(),
        ),
    })));
    blocks
}
