//! What looks like a secret, so that it is kept and shown as one.

use super::Launch;

/// Names, in lower case, that say that a value is a secret.
const WORDS: [&str; 8] =
    ["key", "token", "secret", "password", "passwd", "authorization", "cookie", "credential"];

/// Whether a value is to be kept back: one whose name says so and that is not a placeholder already.
pub fn looks_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && !value.contains("${") && is_secret_name(name)
}

/// Whether a name says that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|it| name.contains(it))
}

/// The placeholder that stands for a value in a file for others.
pub fn placeholder(name: &str) -> String {
    let sign = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' };
    format!("${{env:{}}}", name.trim_start_matches('-').chars().map(sign).collect::<String>())
}

/// The same without what looks like a secret in its arguments or its address; `hide` says by the name what stands there instead.
/// Variables and headers stay.
pub fn without_secrets(launch: &Launch, hide: impl Fn(&str) -> String) -> Launch {
    match launch {
        Launch::Stdio { command, args, env, cwd } => Launch::Stdio {
            command: command.clone(),
            args: arguments_without_secrets(args, &hide),
            env: env.clone(),
            cwd: cwd.clone(),
        },
        Launch::Http { url, headers } => {
            Launch::Http { url: address_without_secrets(url, &hide), headers: headers.clone() }
        }
    }
}

/// Arguments such as `--api-key=…` and `--token …`, without the values.
pub fn arguments_without_secrets(args: &[String], hide: impl Fn(&str) -> String) -> Vec<String> {
    let mut shown = Vec::new();
    let mut named: Option<&str> = None;
    for arg in args {
        let is_option = arg.starts_with('-');
        let text = match (named.take(), arg.split_once('=')) {
            (Some(name), _) if !is_option && looks_secret(name, arg) => hide(name),
            _ if let Some(text) = named_value_without_secret(arg, &hide) => text,
            (_, Some((name, value))) if looks_secret(name, value) => format!("{name}={}", hide(name)),
            (_, None) if is_option => {
                named = Some(arg);
                arg.clone()
            }
            (_, Some(_) | None) => arg.clone(),
        };
        shown.push(text);
    }
    shown
}

/// A header or a variable as one argument, such as `Authorization: Bearer …`, `--header=X-Api-Key: …`, `-HCookie: …` and `TOKEN=…`, without
/// the value; nothing if it is none that is a secret.
fn named_value_without_secret(arg: &str, hide: &impl Fn(&str) -> String) -> Option<String> {
    let start = match (arg.strip_prefix("-H"), arg.split_once('=')) {
        (Some(rest), _) => arg.len() - rest.trim_start_matches('=').len(),
        (None, Some((option, rest))) if option.starts_with('-') && !is_secret_name(option) => {
            arg.len() - rest.len()
        }
        (None, Some(_) | None) => 0,
    };
    let (before, pair) = arg.split_at(start);
    let at = pair.find([':', '='])?;
    let (name, value) = (&pair[..at], pair[at + 1..].trim_start());
    let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    let is_address = value.starts_with("//");
    let kept = &pair[..pair.len() - value.len()];
    let secret = !is_address && name.chars().all(is_name) && looks_secret(name, value);
    secret.then(|| format!("{before}{kept}{}", hide(name)))
}

/// An address without its password and the values of parameters that are called like secrets. The rest stays as it is written.
pub fn address_without_secrets(text: &str, hide: impl Fn(&str) -> String) -> String {
    let (before, fragment) = text.find('#').map_or((text, ""), |at| text.split_at(at));
    let (base, query) = before.find('?').map_or((before, ""), |at| before.split_at(at));
    let mut shown = match base.split_once("://") {
        Some((scheme, rest)) => {
            let authority = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(authority);
            let password =
                authority.rsplit_once('@').and_then(|(who, host)| Some((who.split_once(':')?, host)));
            match password {
                Some(((user, password), host)) if looks_secret("password", password) => {
                    format!("{scheme}://{user}:{}@{host}{path}", hide("password"))
                }
                Some(_) | None => base.to_owned(),
            }
        }
        None => base.to_owned(),
    };
    if let Some(query) = query.strip_prefix('?') {
        let parameter = |it: &str| match it.split_once('=') {
            Some((name, value)) if looks_secret(name, value) => format!("{name}={}", hide(name)),
            Some(_) | None => it.to_owned(),
        };
        shown += "?";
        shown += &query.split('&').map(parameter).collect::<Vec<_>>().join("&");
    }
    shown + fragment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let check = |text: &str| address_without_secrets(text, |_| "***".to_owned());
        assert_eq!(check("https://a.test/mcp?x=1#y"), "https://a.test/mcp?x=1#y");
        assert_eq!(check("https://me:pw@a.test/mcp"), "https://me:***@a.test/mcp");
        assert_eq!(check("https://a.test/mcp?api_key=k1&x=1#y"), "https://a.test/mcp?api_key=***&x=1#y");
        assert_eq!(check("https://a.test?key=${env:K}"), "https://a.test?key=${env:K}");
        assert_eq!(check("${env:URL}"), "${env:URL}");
    }

    #[test]
    fn arguments_are_shown_without_their_secrets() {
        let check = |text: &str| {
            let args: Vec<String> = text.split(' ').map(str::to_owned).collect();
            arguments_without_secrets(&args, placeholder).join(" ")
        };
        assert_eq!(check("--api-key=k1 --level=3"), "--api-key=${env:API_KEY} --level=3");
        assert_eq!(check("--token t0p run --keys"), "--token ${env:TOKEN} run --keys");
        assert_eq!(check("--token --verbose"), "--token --verbose");
        assert_eq!(check("-y server --token ${env:T}"), "-y server --token ${env:T}");
        let check = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|it| (*it).to_owned()).collect();
            arguments_without_secrets(&args, |_| "***".to_owned()).join(" ")
        };
        for option in ["--header", "-H"] {
            assert_eq!(
                check(&[option, "Authorization: Basic YTpi==", "x"]),
                format!("{option} Authorization: *** x")
            );
        }
        assert_eq!(check(&["--header=X-Api-Key:k1"]), "--header=X-Api-Key:***");
        assert_eq!(check(&["--header=Authorization=Bearer k"]), "--header=Authorization=***");
        assert_eq!(check(&["-HCookie: a=b"]), "-HCookie: ***");
        assert_eq!(check(&["-e", "API_KEY=k1", "--env=TOKEN=t"]), "-e API_KEY=*** --env=TOKEN=***");
        let harmless =
            ["--header", "Accept: text/plain", "https://keys.test:80/a", "--header", "Authorization: ${T}"];
        assert_eq!(check(&harmless), harmless.join(" "));
    }
}
