//! The asynchronous world around the engine: processes, models, scripts, Views and the disk.
//!
//! [`conversation`] is the only place that composes the others; [`contract`] drives a connection for the engine's judgement of a server. Deliberately absent: decisions about audiences, which are the engine's,
//! and everything that draws.

pub mod app_view;
pub mod configuration;
pub mod connection;
pub mod contract;
pub mod conversation;
pub mod model;
pub mod payload;
pub mod script;
pub mod store;
