//! A report as JUnit XML: a suite for the server and one for each tool, a case for each requirement.

use std::fmt::Write;

use usher_host::contract::{Report, Status, Verdict};

/// Writes it. With `strict` a recommendation that is not kept is a failure as well.
pub(crate) fn text(report: &Report, strict: bool) -> String {
    let server = report.server.as_deref().unwrap_or("server");
    let mut suites = suite(server, &report.whole, &[], None, strict);
    for tool in &report.tools {
        let name = format!("{server}.{}", tool.name);
        suites += &suite(&name, &tool.verdicts, &tool.notes, tool.skipped.as_deref(), strict);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"usher check\">\n{suites}</testsuites>\n"
    )
}

fn suite(name: &str, verdicts: &[Verdict], notes: &[String], skipped: Option<&str>, strict: bool) -> String {
    let fails = |it: &&Verdict| it.status == Status::Broken || (strict && it.status == Status::Advice);
    let failures = verdicts.iter().filter(fails).count();
    let unseen = verdicts.iter().filter(|it| it.status == Status::NotChecked).count();
    let mut text = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{unseen}\">\n",
        escape(name),
        verdicts.len()
    );
    for verdict in verdicts {
        let title = escape(&format!("{} {}", verdict.check.id(), verdict.check.text()));
        let _ = write!(text, "    <testcase classname=\"{}\" name=\"{title}\"", escape(name));
        let said: Vec<String> =
            verdict.findings.iter().map(|it| format!("{}: {}", it.case.name(), it.text)).collect();
        let said = escape(&said.join("\n"));
        match verdict.status {
            Status::Kept => text += "/>\n",
            Status::NotChecked => {
                let why = escape(skipped.unwrap_or("nothing that was called shows it"));
                let _ = writeln!(text, "><skipped message=\"{why}\"/></testcase>");
            }
            Status::Advice if !strict => {
                let _ = writeln!(text, "><system-out>{said}</system-out></testcase>");
            }
            Status::Advice | Status::Broken => {
                let _ = writeln!(text, "><failure message=\"{said}\"/></testcase>");
            }
        }
    }
    if !notes.is_empty() {
        let _ = writeln!(text, "    <system-out>{}</system-out>", escape(&notes.join("\n")));
    }
    text + "  </testsuite>\n"
}

/// Text of a server within XML: what XML 1.0 cannot hold is replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' => escaped += "&#10;",
            '\t' => escaped += "&#9;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn a_server_cannot_write_xml() {
        assert_eq!(escape("</a> \"&\u{1b}[0m\n"), "&lt;/a&gt; &quot;&amp;\u{fffd}[0m&#10;");
    }
}
