//! Hosting Views of MCP Apps: what a View is served, what crosses to it, and what it may ask for.
//!
//! Everything here is pure: [`resource`] reads the HTML that a server gives, [`csp`] turns its declared domains into a policy,
//! [`projection`] makes the bytes that cross to the View, [`proxy`] is the page around it, [`bridge`] checks what the View asks, [`rate`] how
//! often and [`consent`] what the user must say to it, [`words`] are what a View would say to the model, with [`picture`]s, and [`download`] what it would save,
//! [`own_tools`] are those that it offers itself, and [`registry`] knows the Views that are live. [`access`] is what a View wishes for
//! beyond its own page, and [`egress`] what of its network passes. The window only relays: a View cannot choose a server, and nothing that it sends is believed.
//!
//! Deliberately absent: calls to servers and the model, which the conversation makes, and the frame itself, which the window draws.

pub mod access;
pub mod address;
pub mod bridge;
pub mod consent;
pub mod csp;
pub mod download;
pub mod egress;
pub mod own_tools;
pub mod picture;
pub mod projection;
pub mod proxy;
pub mod rate;
pub mod registry;
pub mod resource;
pub mod words;
