//! Where other programs keep their lists of servers.

use std::path::{Path, PathBuf};

/// A program that keeps a list of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code, whose file is the person's.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// VS Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// A project, whose file anyone may have written.
    Project,
}

impl Program {
    /// Every one, in the order in which they are looked for.
    pub const ALL: [Self; 6] =
        [Self::ClaudeDesktop, Self::ClaudeCode, Self::Cursor, Self::VsCode, Self::Windsurf, Self::Project];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Project => "this folder",
        }
    }
}

/// The files that may be there. `config` is the system's folder for settings, `project` a folder that is worked in.
pub fn known_files(home: &Path, config: &Path, project: Option<&Path>) -> Vec<(Program, PathBuf)> {
    let mut files = vec![
        (Program::ClaudeDesktop, config.join("Claude/claude_desktop_config.json")),
        (Program::ClaudeCode, home.join(".claude.json")),
        (Program::Cursor, home.join(".cursor/mcp.json")),
        (Program::VsCode, config.join("Code/User/mcp.json")),
        (Program::Windsurf, home.join(".codeium/windsurf/mcp_config.json")),
    ];
    if let Some(project) = project {
        let of_project = [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"];
        files.extend(of_project.iter().map(|it| (Program::Project, project.join(it))));
    }
    files
}
