//! A server that is given in place: a command after `--`, or an address.
//!
//! Deliberately absent: keeping it. It lives as long as the command.

use clap::Args;
use usher_host::{
    connection::{HttpSpec, ServerSpec, StdioSpec},
    conversation::{StoredLaunch, StoredPair, StoredSpec},
};

use super::session::{Failure, own_program};

/// What the command line says of a server that is used for this alone.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct GivenServer {
    /// The address of a server that is spoken to over HTTP for this
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header for the address, such as 'Authorization: Bearer …'; may be given more than once
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// The command of a server that is started for this
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

impl GivenServer {
    /// Whether none is given.
    pub(super) fn is_none(&self) -> bool {
        self.url.is_none() && self.command.is_empty()
    }

    /// The server, for a command that speaks to it without a host.
    pub(super) fn apart(&self) -> Result<ServerSpec, Failure> {
        let values = |all: Vec<StoredPair>| -> Vec<(String, String)> {
            all.into_iter().filter_map(|it| Some((it.name, it.value?))).collect()
        };
        Ok(match self.spec()?.1.launch {
            StoredLaunch::Http { url, headers } => HttpSpec { url, headers: values(headers) }.into(),
            StoredLaunch::Stdio { command, args, env, cwd } => {
                StdioSpec { command, args, env: values(env), cwd: cwd.map(Into::into) }.into()
            }
        })
    }

    /// The server, and a name for it.
    pub(super) fn spec(&self) -> Result<(String, StoredSpec), Failure> {
        if let Some(url) = &self.url {
            let headers = headers(&self.header)?;
            let launch = StoredLaunch::Http { url: address(url)?, headers };
            let name = url.parse::<http::Uri>().ok().and_then(|it| it.host().map(str::to_owned));
            return Ok((name.unwrap_or_else(|| "server".to_owned()), StoredSpec::of(launch)));
        }
        let [program, args @ ..] = self.command.as_slice() else {
            return Err(Failure::usage("After -- the command of a server is expected."));
        };
        let name = std::path::Path::new(program).file_stem().map(|it| it.to_string_lossy().into_owned());
        // In examples and scripts `usher` is this very program, which need not be on the search path.
        let program = if program == "usher" { own_program() } else { program.clone() };
        Ok((name.unwrap_or_else(|| "server".to_owned()), StoredSpec::stdio(program, args.to_vec())))
    }
}

/// An address of a server, or what is wrong with it.
pub(super) fn address(url: &str) -> Result<String, Failure> {
    let is_address = url.contains("${")
        || url
            .parse::<http::Uri>()
            .is_ok_and(|it| it.host().is_some() && matches!(it.scheme_str(), Some("http" | "https")));
    if is_address {
        Ok(url.to_owned())
    } else {
        Err(Failure::usage(format!(
            "{url:?} is no address of a server. Write it whole, such as https://example.com/mcp."
        )))
    }
}

/// Headers as `NAME: VALUE` or `NAME=VALUE`.
pub(super) fn headers(texts: &[String]) -> Result<Vec<StoredPair>, Failure> {
    let read = |it: &String| {
        let at = it.find([':', '=']).filter(|at| *at > 0);
        let at = at.ok_or_else(|| Failure::usage(format!("--header {it:?} is not NAME: VALUE.")))?;
        Ok(StoredPair::plain(it[..at].trim(), it[at + 1..].trim()))
    };
    texts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_place_is_the_same_without_a_host() {
        let words = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
        let given = GivenServer { command: words(&["usher", "sample-server"]), ..GivenServer::default() };
        let Ok(ServerSpec::Stdio(spec)) = given.apart() else { panic!("it is a program") };
        assert_eq!((spec.command, spec.args), (own_program(), words(&["sample-server"])));
        let url = Some("https://a.test/mcp".to_owned());
        let given = GivenServer { url, header: words(&["X-Team: a"]), ..GivenServer::default() };
        let Ok(ServerSpec::Http(spec)) = given.apart() else { panic!("it is an address") };
        assert_eq!(spec.headers, [("X-Team".to_owned(), "a".to_owned())]);
        let given = GivenServer { url: Some("a.test".to_owned()), ..GivenServer::default() };
        assert!(given.apart().is_err());
    }
}
