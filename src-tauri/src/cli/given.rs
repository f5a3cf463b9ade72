//! A server that is given in place: a command after `--`, or an address.
//!
//! Deliberately absent: keeping it. It lives as long as the command.

use std::path::Path;

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
    #[arg(long, value_name = "NAME: VALUE", requires = "url", conflicts_with = "command")]
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
        let name = name_of(program, args);
        // In examples and scripts `usher` is this very program, which need not be on the search path.
        let program = if program == "usher" { own_program() } else { program.clone() };
        Ok((name, StoredSpec::stdio(program, args.to_vec())))
    }
}

/// Programs that run a package that they are given, and those that run a script.
const RUN_PACKAGES: &[&str] = &["npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn"];
const RUN_SCRIPTS: &[&str] =
    &["node", "nodejs", "python", "python3", "py", "ruby", "tsx", "bun", "deno", "uv"];

/// What a server is called after its command: its program, or what a program runs that runs every other server as well.
fn name_of(program: &str, args: &[String]) -> String {
    let stem = |path: &str| Path::new(path).file_stem().map(|it| it.to_string_lossy().into_owned());
    let name = stem(program).unwrap_or_else(|| "server".to_owned());
    if program == "usher" && args.first().is_some_and(|it| it == "sample-server") {
        return "Sample".to_owned();
    }
    // Words such as those of `npm exec` and `uv run` say how, and not what.
    let is_what = |it: &&str| !it.starts_with('-') && !["exec", "dlx", "x", "run", "tool"].contains(it);
    let what = args.iter().map(String::as_str).find(is_what);
    let run = match what {
        Some(package) if RUN_PACKAGES.contains(&name.as_str()) => {
            // A scope before it and a version behind it do not tell it apart.
            let last = package.rsplit('/').next().unwrap_or(package);
            last.split(['@', '=', '<', '>', '~', '[']).next().map(str::to_owned)
        }
        Some(script) if RUN_SCRIPTS.contains(&name.as_str()) => stem(script),
        Some(_) | None => None,
    };
    run.filter(|it| !it.is_empty()).unwrap_or(name)
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
    fn a_server_is_called_after_what_is_run() {
        let name = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            name_of(&words[0], &words[1..])
        };
        for (line, expected) in [
            ("npx -y @modelcontextprotocol/server-everything@2025.1.2 stdio", "server-everything"),
            ("npm exec -- @scope/notes", "notes"),
            ("uvx mcp-server-git==1.2 --repository .", "mcp-server-git"),
            ("uv run server.py", "server"),
            ("node --inspect dist/notes.mjs", "notes"),
            ("/usr/bin/python3 -m mcp_server_time", "mcp_server_time"),
            ("python -", "python"),
            ("npx", "npx"),
            ("./target/debug/notes --flag x", "notes"),
            ("usher sample-server --crash-on-call", "Sample"),
        ] {
            assert_eq!(name(line), expected, "{line}");
        }
    }

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
