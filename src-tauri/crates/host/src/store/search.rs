//! Full-text search over what the user wrote and read: titles, messages and answers.
//!
//! Triggers feed the index from items of the kinds `user` and `assistant` alone, once their text is whole. Deliberately absent: results
//! of tools. Whatever was made for the model, for scripts or for Views cannot be found because it is not in the index.

use rusqlite::{Connection, params_from_iter};

use super::{Store, StoreError, open::Migration};

/// Trigrams find any part of a word, in scripts without spaces too.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 2,
    sql: "
    CREATE VIRTUAL TABLE item_search USING fts5 (text, content = 'item', content_rowid = 'row', tokenize = 'trigram');
    INSERT INTO item_search (item_search, rank) VALUES ('secure-delete', 1);
    INSERT INTO item_search (rowid, text) SELECT row, text FROM item WHERE kind IN ('user', 'assistant') AND streaming = 0;
    CREATE TRIGGER item_search_added AFTER INSERT ON item WHEN new.kind IN ('user', 'assistant') AND new.streaming = 0 BEGIN
      INSERT INTO item_search (rowid, text) VALUES (new.row, new.text);
    END;
    CREATE TRIGGER item_search_removed AFTER DELETE ON item WHEN old.kind IN ('user', 'assistant') AND old.streaming = 0 BEGIN
      INSERT INTO item_search (item_search, rowid, text) VALUES ('delete', old.row, old.text);
    END;
    CREATE TRIGGER item_search_before AFTER UPDATE OF text, kind, streaming ON item
      WHEN old.kind IN ('user', 'assistant') AND old.streaming = 0 BEGIN
      INSERT INTO item_search (item_search, rowid, text) VALUES ('delete', old.row, old.text);
    END;
    CREATE TRIGGER item_search_after AFTER UPDATE OF text, kind, streaming ON item
      WHEN new.kind IN ('user', 'assistant') AND new.streaming = 0 BEGIN
      INSERT INTO item_search (rowid, text) VALUES (new.row, new.text);
    END;
    CREATE VIRTUAL TABLE title_search USING fts5 (title, content = 'conversation', content_rowid = 'row', tokenize = 'trigram');
    INSERT INTO title_search (title_search, rank) VALUES ('secure-delete', 1);
    INSERT INTO title_search (rowid, title) SELECT row, title FROM conversation;
    CREATE TRIGGER title_search_added AFTER INSERT ON conversation BEGIN
      INSERT INTO title_search (rowid, title) VALUES (new.row, new.title);
    END;
    CREATE TRIGGER title_search_removed AFTER DELETE ON conversation BEGIN
      INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.row, old.title);
    END;
    CREATE TRIGGER title_search_changed AFTER UPDATE OF title ON conversation BEGIN
      INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.row, old.title);
      INSERT INTO title_search (rowid, title) VALUES (new.row, new.title);
    END;",
}];

/// How many characters of context stand on each side of what was found.
const AROUND: usize = 60;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The conversation.
    pub conversation_id: String,
    /// Its title.
    pub title: String,
    /// The message or answer; `None` when the title itself was found.
    pub item_id: Option<String>,
    /// The text around the first word that was found.
    pub snippet: String,
    /// When the conversation last changed, in milliseconds since 1970.
    pub updated_ms: i64,
}

impl Store {
    /// Finds titles, messages and answers that contain every word of the query, in any case; parts of words count. Newest conversation
    /// first, its title before its items.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn search(&self, query: &str, limit: u32) -> Result<Vec<SearchHit>, StoreError> {
        let words: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        self.read_large(move |connection| find(connection, &words, limit)).await
    }
}

fn find(connection: &Connection, words: &[String], limit: u32) -> rusqlite::Result<Vec<SearchHit>> {
    let mut params = Vec::new();
    let titles = condition("title_search", "conversation.row", "conversation.title", words, &mut params);
    let items = condition("item_search", "item.row", "item.text", words, &mut params);
    let mut query = connection.prepare(&format!(
        "SELECT conversation.id, title, NULL, title, updated_ms, -1 AS seq FROM conversation WHERE {titles}
         UNION ALL
         SELECT conversation.id, title, item.id, text, updated_ms, seq FROM item
           JOIN conversation ON conversation.id = item.conversation_id
           WHERE item.kind IN ('user', 'assistant') AND item.streaming = 0 AND {items}
         ORDER BY updated_ms DESC, 1, seq LIMIT {limit}"
    ))?;
    query
        .query_map(params_from_iter(params), |row| {
            Ok(SearchHit {
                conversation_id: row.get(0)?,
                title: row.get(1)?,
                item_id: row.get(2)?,
                snippet: snippet(&row.get::<_, String>(3)?, words),
                updated_ms: row.get(4)?,
            })
        })?
        .collect()
}

/// The SQL that finds every word: by the index where a word has a trigram, by comparison where it is shorter. Nothing of the query
/// becomes syntax of SQL or of the index: every word is a parameter, and a quoted phrase there.
fn condition(index: &str, rowid: &str, text: &str, words: &[String], params: &mut Vec<String>) -> String {
    let mut parts = Vec::new();
    let long: Vec<String> = words
        .iter()
        .filter(|word| word.chars().count() >= 3)
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"").replace('\0', " ")))
        .collect();
    if !long.is_empty() {
        params.push(long.join(" AND "));
        parts.push(format!("{rowid} IN (SELECT rowid FROM {index} WHERE {index} MATCH ?{})", params.len()));
    }
    for word in words.iter().filter(|word| word.chars().count() < 3) {
        params.push(format!("%{}%", word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")));
        parts.push(format!("{text} LIKE ?{} ESCAPE '\\'", params.len()));
    }
    parts.join(" AND ")
}

/// The text around the first place where a word stands, on one line.
fn snippet(text: &str, words: &[String]) -> String {
    let lower: Vec<char> = text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect();
    let first = words.iter().filter_map(|word| {
        let word: Vec<char> = word.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect();
        lower.windows(word.len()).position(|window| window == word)
    });
    let at = first.min().unwrap_or(0);
    let from = at.saturating_sub(AROUND);
    let cut: String = text.chars().skip(from).take(2 * AROUND).collect();
    let line = cut.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if lower.len() > from + 2 * AROUND { "…" } else { "" };
    format!("{before}{line}{after}")
}
