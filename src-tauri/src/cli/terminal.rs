//! Text for terminals: audiences told apart by a word and, where the terminal has them, by a colour; nothing wider than the line.
//!
//! What servers and models send is untrusted: control and direction characters are replaced before anything is written. Deliberately
//! absent: any reading of the host.

use std::io::{IsTerminal, Write};

use usher_protocol::{UI_EXTENSION, model::Audience};

/// The width that everything is written for, in columns.
pub(super) const WIDTH: usize = 80;

/// How text is dressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint {
    colour: bool,
    ascii: bool,
}

/// What a piece of text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// For the model.
    Model,
    /// For the person.
    You,
    /// For a script.
    Script,
    /// For a View.
    View,
    /// For an audience without a colour of its own.
    Other,
    /// Reaches nobody, or is wrong.
    Wrong,
    /// A heading.
    Strong,
    /// Less important.
    Faint,
}

impl Paint {
    /// Neither colours nor characters beyond ASCII in what Usher itself writes.
    pub(super) const PLAIN: Self = Self { colour: false, ascii: true };

    /// As standard output can show it. `NO_COLOR` with any value takes the colours away (no-color.org).
    pub(super) fn of_stdout(plain: bool) -> Self {
        Self::of(plain, std::io::stdout().is_terminal())
    }

    /// As standard error can show it.
    pub(super) fn of_stderr() -> Self {
        Self::of(false, std::io::stderr().is_terminal())
    }

    fn of(plain: bool, terminal: bool) -> Self {
        if plain {
            return Self::PLAIN;
        }
        let refused = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
        Self { colour: terminal && !refused && !dumb, ascii: false }
    }

    /// Text in a tone.
    pub(super) fn tone(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Model => "1;34",
            Tone::You => "1;32",
            Tone::Script => "1;33",
            Tone::View => "1;35",
            Tone::Other => "1;36",
            Tone::Wrong => "1;31",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// The mark that stands before an audience.
    pub(super) fn bullet(self) -> &'static str {
        if self.ascii { "*" } else { "●" }
    }

    /// A line with a title in it, as wide as the screen.
    pub(super) fn rule(self, title: &str) -> String {
        let stroke = if self.ascii { "-" } else { "─" };
        let title = clip(title, WIDTH - 6);
        let rest = WIDTH.saturating_sub(columns(&title) + 4);
        format!("{0}{0} {1} {2}", stroke, self.tone(Tone::Strong, &title), stroke.repeat(rest))
    }

    /// A bar of a share of a whole.
    pub(super) fn bar(self, part: u64, whole: u64, width: u64) -> String {
        let filled = (part * width).checked_div(whole).unwrap_or(0).max(u64::from(part > 0));
        let stroke = if self.ascii { "#" } else { "█" };
        stroke.repeat(usize::try_from(filled).unwrap_or(0))
    }
}

/// The word and the tone that stand for an audience.
pub(super) fn audience(audience: &Audience) -> (String, Tone) {
    match audience {
        Audience::Assistant => ("MODEL".to_owned(), Tone::Model),
        Audience::User => ("YOU".to_owned(), Tone::You),
        Audience::Programmatic => ("SCRIPT".to_owned(), Tone::Script),
        Audience::Extension(id) if id == UI_EXTENSION => ("VIEW".to_owned(), Tone::View),
        Audience::Extension(id) => (clean(id), Tone::Other),
    }
}

/// Untrusted text without what could steer a terminal or reorder its line; line breaks stay.
pub(super) fn clean(text: &str) -> String {
    let keep = |c: char| match c {
        '\n' => c,
        '\t' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ if c.is_control() => '\u{fffd}',
        _ => c,
    };
    text.replace("\r\n", "\n").chars().map(keep).collect()
}

/// Untrusted text on one line.
pub(super) fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// At most so many characters, the last of them an ellipsis if some are missing.
pub(super) fn clip(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Text in lines of at most `width` characters, broken between words where that is possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let mut word = word;
            // A word longer than a line begins where the text stands; breaking before it would not help.
            let fits_a_line = columns(word) <= width;
            if !line.is_empty() && fits_a_line && columns(&line) + 1 + columns(word) > width {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() && columns(&line) < width {
                line.push(' ');
            }
            while columns(&line) + columns(word) > width {
                let room = width - columns(&line);
                let cut = word.char_indices().nth(room).map_or(word.len(), |it| it.0);
                line.push_str(&word[..cut]);
                lines.push(std::mem::take(&mut line));
                word = &word[cut..];
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// The first lines of a text, and how much is missing.
pub(super) fn head(text: &str, width: usize, most: usize) -> Vec<String> {
    // A text of megabytes is not wrapped whole to show six lines of it.
    let enough = width * (most + 1) * 4;
    let start = &text[..text.floor_char_boundary(enough)];
    let mut lines = wrap(start, width);
    if lines.len() > most || start.len() < text.len() {
        lines.truncate(most);
        let shown: usize = lines.iter().map(|it| it.len() + 1).sum();
        lines.push(format!("… and about {} more", size(text.len().saturating_sub(shown))));
    }
    lines
}

/// Rows under a heading, in columns as wide as their widest cell, as many columns as fit.
pub(super) fn table(heads: &[(String, bool)], rows: &[Vec<String>], width: usize) -> Vec<String> {
    const MOST: usize = 24;
    let wide = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|it| columns(it));
        cells.chain(heads.get(at).map(|it| columns(&it.0))).max().unwrap_or(0).min(MOST)
    };
    let mut widths = Vec::new();
    let mut used = 0;
    for at in 0..heads.len() {
        let next = wide(at);
        if at > 0 && used + 2 + next > width {
            break;
        }
        used += next + if at > 0 { 2 } else { 0 };
        widths.push(next);
    }
    let set = |cells: Vec<&str>| {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let cell = clip(cell, *width);
            let pad = " ".repeat(width - columns(&cell));
            let numeric = heads.get(at).is_some_and(|it| it.1);
            let gap = if at > 0 { "  " } else { "" };
            line += &if numeric { format!("{gap}{pad}{cell}") } else { format!("{gap}{cell}{pad}") };
        }
        line.trim_end().to_owned()
    };
    let mut lines = vec![set(heads.iter().map(|it| it.0.as_str()).collect())];
    lines.extend(rows.iter().map(|row| set(row.iter().map(String::as_str).collect())));
    let hidden: Vec<&str> = heads.iter().skip(widths.len()).map(|it| it.0.as_str()).collect();
    if !hidden.is_empty() {
        lines.push(format!("… and the columns {}", clip(&hidden.join(", "), width.saturating_sub(18))));
    }
    lines
}

/// A size for people.
pub(super) fn size(bytes: usize) -> String {
    usher_engine::ledger::size(bytes as u64)
}

/// Writes to standard output. Whoever closed it wants nothing more.
pub(super) fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _closed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes to standard error, which may be closed as well.
pub(super) fn err(text: &str) {
    let _closed = std::io::stderr().lock().write_all(text.as_bytes());
}
