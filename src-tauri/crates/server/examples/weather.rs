//! A server with one tool and a result for each audience, on standard input and output, or at a port with `--http`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use usher_server::{
    AnyTool, Call, DeclarationError, Failure, Server, ToolBuilder, http,
    protocol::{common::ContentBlock, model::Selector},
    stdio,
};

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Days {
    celsius: Vec<i32>,
}

fn forecast() -> Result<Box<dyn AnyTool>, DeclarationError> {
    ToolBuilder::new("forecast", "Tells the weather of the coming days in a city.")
        .input_of::<Place>()
        .content(Selector::ASSISTANT_CONTENT, |days: &Days| {
            let warmest = days.celsius.iter().max().map_or("unknown".to_owned(), i32::to_string);
            vec![ContentBlock::text(format!("The warmest day is {warmest} °C."))]
        })
        .structured_of(Selector::PROGRAMMATIC, Days::clone)
        .handler(|call: Call| async move {
            match call.arguments::<Place>()?.city.as_str() {
                "Oslo" => Ok(Days { celsius: vec![-2, 1, 4] }),
                other => Err(Failure::of(format!("There is no station in {other}; try Oslo."))),
            }
        })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Arc::new(Server::new("weather", "1.0.0").tool(forecast()?));
    if std::env::args().any(|it| it == "--http") {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
        return Ok(http::serve(server, listener, http::HttpOptions::default()).await?);
    }
    Ok(stdio::serve(server, tokio::io::stdin(), tokio::io::stdout()).await?)
}
