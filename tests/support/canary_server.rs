//! A server that nobody may reach: it keeps what whoever comes says first.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// A server on the loopback address that counts who comes. It ends with the process.
#[derive(Debug)]
pub struct CanaryServer {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl CanaryServer {
    /// Starts to listen.
    ///
    /// # Errors
    /// No port is free.
    pub fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                thread::spawn(move || {
                    let mut stream = stream;
                    let mut said = vec![0; 1024];
                    let _timeout = stream.set_read_timeout(Some(Duration::from_secs(2)));
                    let count = stream.read(&mut said).unwrap_or_default();
                    let said = String::from_utf8_lossy(&said[..count]).into_owned();
                    all.lock().unwrap_or_else(PoisonError::into_inner).push(said);
                    let _gone = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
                });
            }
        });
        Ok(Self { address, heard })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What came so far: the first bytes of each connection, which may be none.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
