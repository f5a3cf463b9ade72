//! Lists of servers of other programs: found, read, reviewed, kept; and the list of these servers for other programs.
//!
//! Deliberately absent: starting anything for a review, and the dialects, which [`crate::configuration`] reads.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{StoredLaunch, StoredPair, StoredSpec};
use crate::{
    configuration::{self, Configuration, Configured, Input, Launch, Program},
    conversation::{Host, HostError, outputs::write_new},
};

/// How big a list of servers may be.
const MAX_BYTES: u64 = 4 << 20;

/// Where a list of servers comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListSource {
    /// A file.
    File(PathBuf),
    /// A text, such as one that was pasted.
    Text(String),
}

/// A list that another program keeps on this computer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownList {
    /// The program.
    pub program: Program,
    /// The file.
    pub path: PathBuf,
    /// How many servers it names.
    pub servers: usize,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// What a list would bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListReview {
    /// Where it comes from, for people.
    pub source: String,
    /// Names the very text that was read, so that nothing else is taken over with the person's yes to this.
    pub digest: String,
    /// The servers, in the list's order.
    pub servers: Vec<ReviewedServer>,
    /// What the person has to say, each with the names of the servers that need it.
    pub inputs: Vec<(Input, Vec<String>)>,
    /// Entries that cannot be used, and why.
    pub skipped: Vec<(String, String)>,
}

/// A server of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedServer {
    /// Its name in the list.
    pub name: String,
    /// How it is reached. The values of secrets are in it.
    pub launch: StoredLaunch,
    /// What would run or be asked, without the values of secrets.
    pub runs: String,
    /// Whether the list has it turned on.
    pub enabled: bool,
    /// What was read otherwise than it is written, or not at all.
    pub remarks: Vec<String>,
    /// Whether a server of this name is here already.
    pub taken: bool,
    /// The variables that it needs and that are not set here.
    pub missing: Vec<String>,
}

/// A server of a list that the person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListChoice {
    /// Its name in the list.
    pub key: String,
    /// Its name here.
    pub name: String,
    /// Whether it is to run.
    pub enabled: bool,
}

impl Host {
    /// The lists that other programs keep on this computer, of those that are there.
    pub async fn known_lists(&self) -> Vec<KnownList> {
        let around = self.surroundings();
        let (Some(home), Some(config)) = (&around.home, &around.config) else { return Vec::new() };
        let files = configuration::known_files(home, config, around.project.as_deref());
        let look = move || files.into_iter().filter(|it| it.1.is_file()).map(known).collect();
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// What a list would bring. Nothing is kept, and nothing runs.
    ///
    /// # Errors
    /// The list cannot be read.
    pub async fn review_list(&self, source: &ListSource) -> Result<ListReview, HostError> {
        let (list, digest) = list(source.clone()).await?;
        let env = (self.surroundings().env)();
        let names: Vec<String> = self.all_servers().values().map(|it| it.name.clone()).collect();
        let mut inputs: Vec<(Input, Vec<String>)> =
            list.inputs.iter().map(|it| (it.clone(), Vec::new())).collect();
        let mut servers = Vec::new();
        for server in &list.servers {
            for id in configuration::inputs_of(&server.launch) {
                match inputs.iter_mut().find(|it| it.0.id == id) {
                    Some((_, used_by)) => used_by.push(server.name.clone()),
                    // It is used and nowhere described. What is not known to be harmless is a secret.
                    None => {
                        let (description, options) = (id.clone(), Vec::new());
                        let input = Input { id, description, password: true, default: None, options };
                        inputs.push((input, vec![server.name.clone()]));
                    }
                }
            }
            let launch = stored(&server.launch);
            let runs = configuration::without_secrets(&server.launch, |_| "[secret]".to_owned());
            let mut remarks = server.remarks.clone();
            if runs != server.launch {
                let word = "it holds what looks like a secret outside of its variables and headers, which is kept in the clear";
                remarks.push(word.to_owned());
            }
            servers.push(ReviewedServer {
                name: server.name.clone(),
                runs: StoredSpec::of(stored(&runs)).line(),
                launch,
                enabled: server.enabled,
                remarks,
                taken: names.contains(&server.name),
                missing: configuration::variables_of(&server.launch)
                    .into_iter()
                    .filter(|it| !env.contains_key(it))
                    .collect(),
            });
        }
        inputs.retain(|it| !it.1.is_empty());
        Ok(ListReview { source: named(source), digest, servers, inputs, skipped: list.skipped })
    }

    /// Keeps servers of a list, with what the person said for its inputs, by their ids. Nothing starts that is not to run. `reviewed` is
    /// the digest of the review that the person saw. Answers the servers' ids.
    ///
    /// # Errors
    /// The list cannot be read, is not the one that was reviewed, or has no such server, a name is taken, or the disk refuses. What is refused is refused before anything
    /// is kept; only a disk that fails in between can leave a part.
    pub async fn import_servers(
        &self,
        source: &ListSource,
        reviewed: &str,
        chosen: &[ListChoice],
        inputs: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, HostError> {
        let (list, digest) = list(source.clone()).await?;
        if digest != reviewed {
            return Err(HostError::new(
                format!("{} changed since it was shown.", named(source)),
                "Nothing was imported.",
                "Review it again.",
            ));
        }
        let mut taken: Vec<String> = self.all_servers().values().map(|it| it.name.clone()).collect();
        let mut found = Vec::new();
        for choice in chosen {
            let refuse = |what: String, todo: &str| Err(HostError::new(what, "Nothing was imported.", todo));
            let Some(server) = list.servers.iter().find(|it| it.name == choice.key) else {
                let what = format!("The list names no server {:?} any more.", choice.key);
                return refuse(what, "Review it again.");
            };
            let name = choice.name.trim();
            if name.is_empty() {
                return refuse(format!("{:?} needs a name.", choice.key), "Give it one.");
            }
            if taken.iter().any(|it| it == name) {
                return refuse(
                    format!("There is a server named {name} already."),
                    "Give this one another name.",
                );
            }
            taken.push(name.to_owned());
            found.push((server, name.to_owned(), choice.enabled));
        }
        let folder = match source {
            ListSource::File(path) => path.parent().map(Path::to_owned),
            ListSource::Text(_) => None,
        };
        let mut ids = Vec::new();
        for (server, name, enabled) in found {
            // What is not known to be harmless is a secret.
            let plain = |id: &String| list.inputs.iter().any(|it| it.id == *id && !it.password);
            let plain_inputs = configuration::inputs_of(&server.launch).into_iter().filter(plain).collect();
            let launch = stored(&server.launch);
            let spec = StoredSpec { folder: folder.clone(), plain_inputs, ..StoredSpec::of(launch) };
            let said = |id: &String| {
                let default = || list.inputs.iter().find(|it| it.id == *id)?.default.clone();
                inputs.get(id).filter(|it| !it.is_empty()).cloned().or_else(default)
            };
            let answers = configuration::inputs_of(&server.launch);
            let answers = answers.into_iter().filter_map(|id| Some((id.clone(), said(&id)?)));
            let answers: Vec<(String, String)> = answers.collect();
            ids.push(self.put_server(None, name, spec, enabled, &answers).await?);
        }
        Ok(ids)
    }

    /// The servers as an `mcpServers` file for other programs, and what was replaced in it.
    pub fn export_servers(&self) -> (String, Vec<String>) {
        let mut remarks = Vec::new();
        let configured: Vec<Configured> = self
            .server_statuses()
            .into_iter()
            .map(|it| {
                for pair in it.spec.launch.pairs().iter().filter(|it| it.secret) {
                    remarks
                        .push(format!("{}: {} is a placeholder instead of the secret", it.name, pair.name));
                }
                let value = |it: &StoredPair| Some(configuration::placeholder(&it.name));
                let mut launch = it.spec.launch.with_values(value);
                if let (Launch::Stdio { command, .. }, true) = (&mut launch, it.spec.built_in) {
                    "usher".clone_into(command);
                }
                for input in configuration::inputs_of(&launch) {
                    let text = format!("{}: what was said for {input:?} is not in the file", it.name);
                    remarks.push(text);
                }
                Configured { name: it.name, launch, enabled: it.enabled, remarks: Vec::new() }
            })
            .collect();
        let (text, hidden) = configuration::export(&configured);
        remarks.extend(
            hidden.into_iter().map(|it| format!("{it} is a placeholder instead of what looks like a secret")),
        );
        (text, remarks)
    }
}

/// Nothing of what was typed for a secret is in the file; see [`Host::export_servers`].
impl Host {
    /// Writes that file into a folder, under a name that is free.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub async fn save_servers_export(&self, folder: &Path) -> Result<(PathBuf, u64), HostError> {
        let bytes = self.export_servers().0.into_bytes();
        let size = bytes.len() as u64;
        Ok((write_new(folder, "mcp.json", bytes).await?, size))
    }
}

fn known((program, path): (Program, PathBuf)) -> KnownList {
    let (servers, problem) = match read_file(&path).and_then(|it| read(&it)) {
        Ok(list) => (list.servers.len(), None),
        Err(why) => (0, Some(why)),
    };
    KnownList { program, path, servers, problem }
}

/// The list, and the digest of its text.
async fn list(source: ListSource) -> Result<(Configuration, String), HostError> {
    let name = named(&source);
    let read = tokio::task::spawn_blocking(move || {
        let text = match source {
            ListSource::File(path) => read_file(&path)?,
            ListSource::Text(text) => text,
        };
        let digest = Sha256::digest(&text).iter().map(|it| format!("{it:02x}")).collect();
        Ok((read(&text)?, digest))
    });
    let refuse = |why: String| {
        HostError::new(
            format!("{name} could not be read: {why}."),
            "Nothing was imported.",
            "Check that it is a list of servers, such as the file of Claude Desktop, Cursor or VS Code.",
        )
    };
    read.await.map_err(|error| refuse(error.to_string()))?.map_err(refuse)
}

fn read(text: &str) -> Result<Configuration, String> {
    configuration::read(text).map_err(|error| error.to_string())
}

fn read_file(path: &Path) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > MAX_BYTES {
        return Err(format!("it is bigger than {} MB", MAX_BYTES >> 20));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn named(source: &ListSource) -> String {
    match source {
        ListSource::File(path) => path.display().to_string(),
        ListSource::Text(_) => "The text".to_owned(),
    }
}

/// As it would be stored: what looks like a secret is one.
fn stored(launch: &Launch) -> StoredLaunch {
    let pair = |(name, value): &(String, String)| {
        if configuration::looks_secret(name, value) {
            StoredPair::secret(name, value)
        } else {
            StoredPair::plain(name, value)
        }
    };
    let pairs = |all: &[(String, String)]| all.iter().map(pair).collect();
    match launch {
        Launch::Stdio { command, args, env, cwd } => StoredLaunch::Stdio {
            command: command.clone(),
            args: args.clone(),
            env: pairs(env),
            cwd: cwd.clone(),
        },
        Launch::Http { url, headers } => StoredLaunch::Http { url: url.clone(), headers: pairs(headers) },
    }
}
