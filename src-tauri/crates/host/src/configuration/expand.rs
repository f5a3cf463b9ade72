//! Placeholders: what `${…}` stands for when a server starts.

use std::collections::{BTreeMap, BTreeSet};

use super::Launch;

/// What placeholders stand for.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The host's environment.
    pub env: BTreeMap<String, String>,
    /// What the person said, by the input's id.
    pub inputs: BTreeMap<String, String>,
    /// The person's home folder.
    pub home: Option<String>,
    /// The folder of the file that named the server.
    pub folder: Option<String>,
}

/// Something that a placeholder names is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A variable that is not set.
    #[error("the variable {0} is not set")]
    Variable(String),
    /// Something that the person has not said yet.
    #[error("{0:?} has not been filled in")]
    Input(String),
    /// A placeholder that means nothing here.
    #[error("${{{0}}} means nothing here")]
    Unknown(String),
}

/// Puts values in place of every placeholder.
///
/// # Errors
/// A placeholder has no value. Nothing is started with half a key.
pub fn expand(launch: &Launch, values: &Values) -> Result<Launch, Missing> {
    let text = |it: &String| fill(it, values);
    let texts = |all: &[String]| all.iter().map(text).collect::<Result<Vec<_>, _>>();
    let pairs = |all: &[(String, String)]| {
        all.iter().map(|(name, value)| Ok((name.clone(), text(value)?))).collect::<Result<Vec<_>, Missing>>()
    };
    Ok(match launch {
        Launch::Stdio { command, args, env, cwd } => Launch::Stdio {
            command: text(command)?,
            args: texts(args)?,
            env: pairs(env)?,
            cwd: cwd.as_ref().map(text).transpose()?,
        },
        Launch::Http { url, headers } => Launch::Http { url: text(url)?, headers: pairs(headers)? },
    })
}

/// The ids of the inputs that a launch needs.
pub fn inputs_of(launch: &Launch) -> BTreeSet<String> {
    placeholders(launch).filter_map(|it| it.strip_prefix("input:").map(str::to_owned)).collect()
}

/// The variables of the environment that a launch needs, without those that have a default.
pub fn variables_of(launch: &Launch) -> BTreeSet<String> {
    let nothing = Values { home: Some(String::new()), folder: Some(String::new()), ..Values::default() };
    let missing = |it: String| match value(&it, &nothing) {
        Err(Missing::Variable(name)) => Some(name),
        Err(Missing::Input(_) | Missing::Unknown(_)) | Ok(_) => None,
    };
    placeholders(launch).filter_map(missing).collect()
}

fn placeholders(launch: &Launch) -> impl Iterator<Item = String> {
    let (texts, pairs) = match launch {
        Launch::Stdio { command, args, env, cwd } => {
            let texts = std::iter::once(command).chain(args).chain(cwd).cloned().collect::<Vec<_>>();
            (texts, env)
        }
        Launch::Http { url, headers } => (vec![url.clone()], headers),
    };
    let all = texts.into_iter().chain(pairs.iter().map(|it| it.1.clone())).collect::<Vec<_>>();
    all.into_iter().flat_map(|text| {
        let parts = text.split("${").skip(1);
        parts.filter_map(|it| it.split_once('}').map(|it| it.0.to_owned())).collect::<Vec<_>>()
    })
}

fn fill(text: &str, values: &Values) -> Result<String, Missing> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        filled.push_str(before);
        let Some(end) = after.find('}') else {
            // An open brace is the text of somebody who means it.
            filled.push_str(after);
            return Ok(filled);
        };
        filled.push_str(&value(&after[2..end], values)?);
        rest = &after[end + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

fn value(name: &str, values: &Values) -> Result<String, Missing> {
    if let Some(id) = name.strip_prefix("input:") {
        return values.inputs.get(id).cloned().ok_or_else(|| Missing::Input(id.to_owned()));
    }
    let of_place = |it: &Option<String>| it.clone().ok_or_else(|| Missing::Unknown(name.to_owned()));
    match name {
        "userHome" => return of_place(&values.home),
        "workspaceFolder" => return of_place(&values.folder),
        "pathSeparator" | "/" => return Ok(std::path::MAIN_SEPARATOR.to_string()),
        _ => {}
    }
    let variable = name.strip_prefix("env:").unwrap_or(name);
    let (variable, default) = match variable.split_once(":-") {
        Some((variable, default)) => (variable, Some(default)),
        None => (variable, None),
    };
    let is_name = !variable.is_empty() && variable.chars().all(|it| it.is_alphanumeric() || it == '_');
    if !is_name {
        return Err(Missing::Unknown(name.to_owned()));
    }
    let set = values.env.get(variable).filter(|it| default.is_none() || !it.is_empty());
    set.cloned().or_else(|| default.map(str::to_owned)).ok_or_else(|| Missing::Variable(variable.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<String, Missing> {
        let map =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let values = Values {
            env: map(&[("TOKEN", "t0p"), ("EMPTY", "")]),
            inputs: map(&[("key", "k1")]),
            home: Some("/home/ada".to_owned()),
            folder: None,
        };
        fill(text, &values)
    }

    #[test]
    fn every_dialect_of_placeholders() {
        assert_eq!(check("Bearer ${env:TOKEN}").unwrap(), "Bearer t0p");
        assert_eq!(check("${TOKEN}-${input:key}").unwrap(), "t0p-k1");
        assert_eq!(check("${NONE:-dark}${EMPTY:-light}${EMPTY}").unwrap(), "darklight");
        assert_eq!(check("${userHome}/x $HOME ${open").unwrap(), "/home/ada/x $HOME ${open");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(check("${env:NONE}"), Err(Missing::Variable("NONE".to_owned())));
        assert_eq!(check("${input:other}"), Err(Missing::Input("other".to_owned())));
        assert_eq!(check("${workspaceFolder}"), Err(Missing::Unknown("workspaceFolder".to_owned())));
        assert_eq!(check("${command:x y}").unwrap_err().to_string(), "${command:x y} means nothing here");
    }
}
