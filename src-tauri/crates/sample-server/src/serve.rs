//! The server as its options make it, and what carries it.

use std::{io::Write as _, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use usher_server::{DeclarationError, Server, http, stdio};

use crate::{fixtures, misbehave::Misbehaviour, options::Options, prompts::Openers, resources::Sales, tools};

/// Why the server stopped before its client did.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A tool of the sample server is declared wrongly, which the tests of this crate exclude.
    #[error("the sample server cannot start: {0}")]
    Declaration(#[from] DeclarationError),
    /// The address cannot be listened at.
    #[error("the sample server cannot listen at {0}: {1}")]
    Listen(std::net::SocketAddr, std::io::Error),
    /// It lost its client, or was told to crash.
    #[error(transparent)]
    Served(#[from] usher_server::ServeError),
}

/// Serves one client until it closes `stdin`, or with an address in the options any number over HTTP until the future is dropped. The
/// address is then printed on standard error.
///
/// A caller that reads the process's own stdin must end the process after this returns: that read cannot be taken back.
///
/// # Errors
/// A stream failed, the address cannot be listened at, or the options ask for a crash.
pub async fn serve(
    options: Options,
    stdin: impl AsyncRead + Unpin + Send,
    stdout: impl AsyncWrite + Unpin + Send,
) -> Result<(), ServeError> {
    if options.wire.crash_at_start {
        return Err(usher_server::ServeError::Crash.into());
    }
    let address = options.http;
    let server = server(options)?;
    let Some(address) = address else { return Ok(stdio::serve(server, stdin, stdout).await?) };
    let unusable = |error| ServeError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let bound = listener.local_addr().map_err(unusable)?;
    let http = http::HttpOptions::default();
    // Without standard error nobody learns the address, and nobody can be told so.
    let _told = writeln!(std::io::stderr(), "usher sample-server: {}", http::url(bound, &http));
    Ok(http::serve(server, listener, http).await?)
}

const INSTRUCTIONS: &str =
    "A made-up sales team: customers, tickets, events, and a picture maker. Nothing here is real.";

fn server(options: Options) -> Result<Arc<Server>, DeclarationError> {
    let server = Server::new("usher-sample", env!("CARGO_PKG_VERSION"))
        .title("Usher sample server")
        .revisions(&options.era.revisions());
    let is_fixtures = options.conformance_fixtures;
    let server = server.interfered(Misbehaviour(options));
    if is_fixtures {
        return fixtures::offer(server);
    }
    let server = server.instructions(INSTRUCTIONS).resources(Sales).prompts(Openers);
    Ok(Arc::new(tools::all()?.into_iter().fold(server, Server::tool)))
}
