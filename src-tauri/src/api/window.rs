//! What a window needs from the host beside the commands: the event stream, bytes by address, and the end.
//!
//! Deliberately absent: Tauri, and how an address is written on each system (that is [`super::serve`] and the desktop).

use std::path::PathBuf;

pub use usher_host::conversation::PageLoss;
use usher_host::{app_view::resource::Permissions, conversation::Host};

use super::{
    Commands,
    serve::Served,
    types::{Snapshot, UiBatch},
};

/// Takes batches to the window, in order. Answers `false` once the window is gone, so that the host stops sending.
pub type BatchSink = Box<dyn Fn(&UiBatch) -> bool + Send + Sync>;

/// What the window runs on.
pub trait WindowHost: Commands + Send + Sync + 'static {
    /// Starts the stream of events to `sink` and gives everything up to it. A later call replaces the sink: the page was loaded again
    /// or found a gap. `since` is the first sequence number that the page has not seen.
    fn subscribe(&self, since: Option<u64>, sink: BatchSink) -> Snapshot;

    /// The bytes of one part of an output, whole; ranges are cut by [`super::serve`].
    fn media(&self, handle: &str, index: u32) -> impl Future<Output = Option<Served>> + Send;

    /// The document of a live View or the page around it, by the random label that is its host name and by the path. Each brings its own
    /// content security policy.
    fn view_document(&self, host_label: &str, path: &str) -> Option<Served>;

    /// Whether a host is that of a live View. No frame goes to the host of one that is gone, or of none.
    fn is_view_open(&self, host: &str) -> bool;

    /// How many Views are live. The page is watched while there are any.
    fn open_views(&self) -> usize;

    /// The page was lost with its Views, and will be loaded again.
    fn page_lost(&self, loss: PageLoss);

    /// Whether a frame inside a live View may go to this address, because that View declared the origin in `frameDomains`.
    /// Asked only for addresses that are neither the window's nor a View's.
    fn is_navigation_allowed(&self, url: &str) -> bool;

    /// The features that some live View was granted.
    fn granted_features(&self) -> Permissions;

    /// The host, which the proxy of the web view asks about each connection.
    fn gate(&self) -> Host;

    /// Where the web view keeps what pages store, below the folder that the user knows.
    fn web_data_dir(&self) -> PathBuf;

    /// Ends the servers and writes what is unwritten. Called once, and cut off after a few seconds.
    fn shut_down(&self) -> impl Future<Output = ()> + Send;
}
