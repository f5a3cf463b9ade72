//! Between the form of a server and how a server is stored.
//!
//! Deliberately absent: decisions about secrets, which the host makes.

use usher_host::conversation::{
    KnownList, ListReview, ListSource, ReviewedServer, StoredLaunch, StoredPair, StoredSpec, Trial,
};

use super::{
    ApiError,
    answers::refuse,
    types::{
        ConfigurationSource, FormPair, ImportEntry, ImportInput, ImportReview, KnownConfiguration,
        LaunchForm, ServerForm, ServerTest, SkippedEntry,
    },
};

/// What the form of a stored server holds. The program's own sample server is shown as `usher`.
pub(super) fn form(name: String, spec: StoredSpec) -> ServerForm {
    let pinned_revision = spec.pinned.map(|it| it.to_string());
    let launch = launch_form(spec.launch);
    let launch = match launch {
        LaunchForm::Stdio { args, env, cwd, .. } if spec.built_in => {
            LaunchForm::Stdio { command: "usher".to_owned(), args, env, cwd }
        }
        other @ (LaunchForm::Stdio { .. } | LaunchForm::Http { .. }) => other,
    };
    ServerForm { name, launch, pinned_revision }
}

/// The same of the program or the address.
pub(super) fn launch_form(launch: StoredLaunch) -> LaunchForm {
    // A secret's value has no way to the window, wherever the launch came from.
    let pair = |it: StoredPair| FormPair {
        name: it.name,
        value: it.value.filter(|_| !it.secret),
        secret: it.secret,
    };
    let pairs = |all: Vec<StoredPair>| all.into_iter().map(pair).collect();
    match launch {
        StoredLaunch::Stdio { command, args, env, cwd } => {
            LaunchForm::Stdio { command, args, env: pairs(env), cwd }
        }
        StoredLaunch::Http { url, headers } => LaunchForm::Http { url, headers: pairs(headers) },
    }
}

/// What a form says, checked. `old` is what is stored, to keep what no form shows.
pub(super) fn spec(form: &ServerForm, old: Option<&StoredSpec>) -> Result<(String, StoredSpec), ApiError> {
    let name = form.name.trim().to_owned();
    if name.is_empty() {
        return Err(refuse("A server needs a name.", "Give it one."));
    }
    let launch = match &form.launch {
        LaunchForm::Stdio { command, args, env, cwd } => {
            if command.trim().is_empty() {
                return Err(refuse("A server needs a command.", "Write the program that is to be started."));
            }
            let cwd = cwd.as_deref().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned);
            let command = command.trim().to_owned();
            StoredLaunch::Stdio { command, args: args.clone(), env: pairs(env)?, cwd }
        }
        LaunchForm::Http { url, headers } => {
            let url = url.trim();
            let is_address = url.contains("${")
                || url
                    .parse::<http::Uri>()
                    .is_ok_and(|it| it.host().is_some() && matches!(it.scheme_str(), Some("http" | "https")));
            if !is_address {
                return Err(refuse(
                    format!("{url:?} is no address of a server."),
                    "Write the whole address, such as https://example.com/mcp.",
                ));
            }
            StoredLaunch::Http { url: url.to_owned(), headers: pairs(headers)? }
        }
    };
    let pinned = form.pinned_revision.as_deref().filter(|it| !it.is_empty()).map(revision).transpose()?;
    let is_own = matches!(&launch, StoredLaunch::Stdio { command, .. } if command == "usher");
    let built_in = is_own && old.is_some_and(|it| it.built_in);
    let folder = old.and_then(|it| it.folder.clone());
    let plain_inputs = old.map(|it| it.plain_inputs.clone()).unwrap_or_default();
    Ok((name, StoredSpec { launch, built_in, pinned, folder, plain_inputs }))
}

/// A revision by its name.
pub(super) fn revision(text: &str) -> Result<usher_protocol::Revision, ApiError> {
    text.parse::<usher_protocol::Revision>()
        .map_err(|error| refuse(format!("{error}."), "Choose one of the list, or automatic negotiation."))
}

/// What came of a trial.
pub(super) fn test(it: Trial) -> ServerTest {
    ServerTest {
        ok: it.ok,
        what: it.what,
        safe: it.safe,
        todo: it.todo,
        revision: it.revision.map(|it| it.to_string()),
        server_info: it.server_info,
        tools: count(it.tools),
        steps: it.steps,
        stderr_tail: it.stderr_tail,
    }
}

/// A list of another program.
pub(super) fn known(it: KnownList) -> KnownConfiguration {
    KnownConfiguration {
        program: it.program.name().to_owned(),
        path: it.path.display().to_string(),
        servers: count(it.servers),
        problem: it.problem,
    }
}

/// Where a list comes from. A path may begin with the home folder's sign, as people write it.
pub(super) fn source(it: ConfigurationSource) -> ListSource {
    match it {
        ConfigurationSource::Text { text } => ListSource::Text(text),
        ConfigurationSource::Path { path } => {
            let path = path.trim();
            let at_home = path.strip_prefix("~/").and_then(|it| Some(dirs::home_dir()?.join(it)));
            ListSource::File(at_home.unwrap_or_else(|| path.into()))
        }
    }
}

/// What a list would bring.
pub(super) fn review(it: ListReview) -> ImportReview {
    let entry = |it: ReviewedServer| ImportEntry {
        key: it.name.clone(),
        name: it.name,
        launch: launch_form(it.launch),
        runs: it.runs,
        enabled: it.enabled,
        remarks: it.remarks,
        taken: it.taken,
        missing: it.missing,
    };
    ImportReview {
        source: it.source,
        digest: it.digest,
        servers: it.servers.into_iter().map(entry).collect(),
        inputs: it
            .inputs
            .into_iter()
            .map(|(input, used_by)| ImportInput {
                id: input.id,
                description: input.description,
                password: input.password,
                default: input.default,
                options: input.options,
                used_by,
            })
            .collect(),
        skipped: it.skipped.into_iter().map(|(name, why)| SkippedEntry { name, why }).collect(),
    }
}

fn count(it: usize) -> u32 {
    u32::try_from(it).unwrap_or(u32::MAX)
}

fn pairs(all: &[FormPair]) -> Result<Vec<StoredPair>, ApiError> {
    let pair = |it: &FormPair| {
        let name = it.name.trim();
        if name.is_empty() || name.contains(['=', '\0', '\n', '\r']) {
            return Err(refuse(
                format!("{name:?} is no name."),
                "Correct the variable or header, or leave it out.",
            ));
        }
        // Without a value and without being a secret it is set to nothing, as an empty field says.
        let value = if it.secret { it.value.clone() } else { Some(it.value.clone().unwrap_or_default()) };
        Ok(StoredPair { name: name.to_owned(), value, secret: it.secret })
    };
    all.iter().map(pair).collect()
}
