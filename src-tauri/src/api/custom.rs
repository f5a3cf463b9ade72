//! What the user chose for tools in mode Custom, as the window writes it.

use usher_host::conversation as host;
use usher_protocol::model::Selector;

use super::{ApiError, answers::refuse, types::CustomChoice};

pub(super) fn read(custom: Vec<CustomChoice>) -> Result<Vec<host::CustomChoice>, ApiError> {
    let read = |it: CustomChoice| {
        let selectors: Result<Vec<Selector>, String> = it.selectors.iter().map(|it| it.parse()).collect();
        let selectors =
            selectors.map_err(|why| refuse(why, "Choose among the variants that the tool declares."))?;
        Ok(host::CustomChoice { server_id: it.server_id, tool: it.tool, selectors })
    };
    custom.into_iter().map(read).collect()
}

pub(super) fn view(it: host::CustomChoice) -> CustomChoice {
    let selectors = it.selectors.iter().map(ToString::to_string).collect();
    CustomChoice { server_id: it.server_id, tool: it.tool, selectors }
}
