//! The connection over a pair of streams, one message a line (2026-07-28 basic/transports/stdio).

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc::{self, Receiver},
};

use crate::{
    connection::{Connection, Frame},
    server::Server,
};

/// How long running calls may go on after the client closed its side.
const GRACE: Duration = Duration::from_secs(2);

/// Why the server stopped before its client did.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A stream failed.
    #[error("the server lost its client: {0}")]
    Stream(#[from] std::io::Error),
    /// Something interfered.
    #[error("the server crashed, as it was told to")]
    Crash,
}

/// Serves one client until it closes `stdin`.
///
/// A caller that reads the process's own stdin must end the process after this returns: that read cannot be taken back.
///
/// # Errors
/// A stream failed, or an interference asks for a crash.
pub async fn serve(
    server: Arc<Server>,
    stdin: impl AsyncRead + Unpin + Send,
    stdout: impl AsyncWrite + Unpin + Send,
) -> Result<(), ServeError> {
    // Small, so that a client that does not read holds back who writes to it.
    let (out, frames) = mpsc::channel(16);
    let mut connection = Connection::new(server, out);
    let read = async move {
        connection.start().await;
        let mut stdin = BufReader::new(stdin);
        let mut line = Vec::new();
        while stdin.read_until(b'\n', &mut line).await? > 0 {
            let text = String::from_utf8_lossy(&line);
            if !text.trim().is_empty() {
                connection.receive(&text).await;
            }
            line.clear();
        }
        connection.finish(GRACE).await;
        Ok::<(), ServeError>(())
    };
    let write = write(frames, stdout);
    tokio::pin!(read, write);
    tokio::select! {
        // A crash or a closed stdout ends everything, whatever is still to be read.
        written = &mut write => written,
        ended = &mut read => {
            ended?;
            write.await
        }
    }
}

async fn write(mut frames: Receiver<Frame>, mut stdout: impl AsyncWrite + Unpin) -> Result<(), ServeError> {
    while let Some(frame) = frames.recv().await {
        match frame {
            Frame::Line(mut line) | Frame::Answer { mut line, .. } => {
                line.push(b'\n');
                stdout.write_all(&line).await?;
                stdout.flush().await?;
            }
            Frame::Crash => return Err(ServeError::Crash),
        }
    }
    Ok(())
}
