//! A report as JUnit XML: a suite for the server and one for each tool, a case for each requirement.
//!
//! What could not be checked at all is XML as well, with an error: a job of CI that finds no report would show the one before.

use std::fmt::Write;

use usher_engine::contract::{Finding, Level};
use usher_host::contract::{Report, Status, Verdict};

use super::contract::hint;

/// Writes it. With `strict` a recommendation that is not kept is a failure as well.
pub(crate) fn text(report: &Report, strict: bool) -> String {
    let server = report.server.as_deref().unwrap_or("server");
    let mut suites = Suite { name: server, verdicts: &report.whole, ..Suite::default() }.text(strict);
    for tool in &report.tools {
        let hints = tool.wants.iter().map(|it| hint(*it, &tool.name));
        let skipped = tool.skipped.iter().map(|it| format!("not called: {it}"));
        let notes: Vec<String> = skipped.chain(tool.notes.iter().cloned()).chain(hints).collect();
        let called = tool.called.iter().map(|it| (it.case.name(), it.arguments.get())).collect();
        let name = format!("{server}.{}", tool.name);
        let skipped = tool.skipped.as_deref();
        suites += &Suite { name: &name, verdicts: &tool.verdicts, notes, called, skipped }.text(strict);
    }
    if report.stopped {
        suites += &error("The check was stopped before all tools were checked.");
    }
    whole(&suites)
}

/// Writes what a pasted result came to.
pub(crate) fn pasted(name: &str, verdicts: &[Verdict], notes: &[String], strict: bool) -> String {
    whole(&Suite { name, verdicts, notes: notes.to_vec(), ..Suite::default() }.text(strict))
}

/// Writes that there is no report, and why.
pub(crate) fn failed(why: &str) -> String {
    whole(&error(why))
}

fn whole(suites: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"usher check\">\n{suites}</testsuites>\n"
    )
}

fn error(why: &str) -> String {
    format!(
        "  <testsuite name=\"usher check\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    <testcase classname=\"usher check\" name=\"The check can be made.\"><error message=\"{}\"/></testcase>\n  </testsuite>\n",
        escape(why)
    )
}

/// What concerns one tool, or the server as a whole.
#[derive(Default)]
struct Suite<'a> {
    name: &'a str,
    verdicts: &'a [Verdict],
    notes: Vec<String>,
    called: Vec<(&'static str, &'a str)>,
    skipped: Option<&'a str>,
}

impl Suite<'_> {
    fn text(&self, strict: bool) -> String {
        let fails = |it: &&Verdict| it.status == Status::Broken || (strict && it.status == Status::Advice);
        let failures = self.verdicts.iter().filter(fails).count();
        let unseen = self.verdicts.iter().filter(|it| it.status == Status::NotChecked).count();
        let name = escape(self.name);
        let mut text = format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{unseen}\">\n",
            self.verdicts.len()
        );
        if !self.called.is_empty() {
            text += "    <properties>\n";
            for (case, arguments) in &self.called {
                let arguments = escape(arguments);
                let _ = writeln!(text, "      <property name=\"{case}\" value=\"{arguments}\"/>");
            }
            text += "    </properties>\n";
        }
        for verdict in self.verdicts {
            let title = escape(&format!("{} {}", verdict.check.id(), verdict.check.text()));
            let _ = write!(text, "    <testcase classname=\"{name}\" name=\"{title}\"");
            text += &self.case(verdict, strict);
        }
        if !self.notes.is_empty() {
            let _ = writeln!(text, "    <system-out>{}</system-out>", escape(&self.notes.join("\n")));
        }
        text + "  </testsuite>\n"
    }

    /// The rest of a case: what fails it as its failure, and what is only recommended beside it.
    fn case(&self, verdict: &Verdict, strict: bool) -> String {
        match verdict.status {
            Status::Kept => return "/>\n".to_owned(),
            Status::NotChecked => {
                let why = escape(self.skipped.unwrap_or("nothing that was called shows it"));
                return format!("><skipped message=\"{why}\"/></testcase>\n");
            }
            Status::Advice | Status::Broken => {}
        }
        let (failing, advised): (Vec<&Finding>, Vec<&Finding>) =
            verdict.findings.iter().partition(|it| strict || it.level == Level::Broken);
        let mut text = ">".to_owned();
        if !failing.is_empty() {
            let said: Vec<String> = failing.iter().map(|it| line(it)).collect();
            let (said, all) = (escape(&said.join("\n")), escape(&told(&failing, verdict)));
            let _ = write!(text, "<failure message=\"{said}\">{all}</failure>");
        }
        if !advised.is_empty() {
            let all = escape(&format!("recommended\n{}", told(&advised, verdict)));
            let _ = write!(text, "<system-out>{all}</system-out>");
        }
        text + "</testcase>\n"
    }
}

fn line(finding: &Finding) -> String {
    format!("{}: {}", finding.case.name(), finding.text)
}

/// Each finding with its places, and what to do about them.
fn told(findings: &[&Finding], verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    for finding in findings {
        lines.push(line(finding));
        lines.extend(finding.pointer.iter().filter(|it| !it.is_empty()).map(|it| format!("at {it}")));
        let more = finding.problems.iter().skip(1);
        lines.extend(more.map(|it| format!("and {}: {}", it.pointer, it.message)));
    }
    lines.push(format!("→ {}", verdict.check.remedy()));
    lines.join("\n")
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
