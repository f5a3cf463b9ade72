//! A network in which one name leads to a server of a test: in a test build alone (feature `host-test`).
//!
//! A View is never granted an address of this machine, and the proxy goes to none, so a test could not see a granted request arrive. Here
//! one name has an address of the internet, and who connects there comes to the test's server instead. Deliberately absent: anything
//! that grants; policy, proxy and the judgement of addresses are the product's.

use std::{
    env, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use tokio::net::TcpStream;

use crate::egress::{Outside, System};

/// Names the name and the server, as `tiles.example=127.0.0.1:8080`. Without it the network is the system's.
const NETWORK: &str = "USHER_TEST_NETWORK";

/// The address that the name has.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));

/// The system's network, with one name that leads elsewhere.
#[derive(Debug)]
pub(super) struct Network(Option<(String, SocketAddr)>);

impl Network {
    /// What a test asks for.
    pub(super) fn from_environment() -> Self {
        let said = env::var(NETWORK).ok();
        let read = |it: &str| Some((it.split_once('=')?.0.to_owned(), it.split_once('=')?.1.parse().ok()?));
        Self(said.as_deref().and_then(read))
    }
}

impl Outside for Network {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        match &self.0 {
            Some((name, _)) if name == host => Ok(vec![SocketAddr::new(ELSEWHERE, port)]),
            Some(_) | None => System.addresses(host, port).await,
        }
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        match &self.0 {
            Some((_, server)) if address.ip() == ELSEWHERE => TcpStream::connect(server).await,
            Some(_) | None => System.connect(address).await,
        }
    }
}
