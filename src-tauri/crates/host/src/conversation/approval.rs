//! Whether a call may be made: what the user allowed, for how long, and what the tool looked like when they did.
//!
//! A server's hints about its tools are shown and never decide. Deliberately absent: the question itself, which the window asks.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use usher_protocol::model::Tool;

use super::{Host, HostError, lock};
use crate::store::{Approval, Store, StoreError};

/// What stands for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalRule {
    /// The user is asked.
    Ask,
    /// The user allowed the tool.
    AllowTool,
    /// The user allowed the server.
    AllowServer,
    /// The user forbade the tool.
    Never,
}

/// An answer to the question whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalChoice {
    /// This call.
    Once,
    /// Every call of the tool in this conversation.
    Conversation,
    /// Every call of the tool.
    Tool,
    /// Every call of the server.
    Server,
    /// Not this call.
    Refuse,
    /// No call of the tool.
    Never,
}

impl ApprovalChoice {
    /// The same for what is of one conversation alone, such as a View: nothing stands beyond it.
    pub(super) fn in_conversation(self) -> Self {
        match self {
            Self::Once => Self::Once,
            Self::Conversation | Self::Tool | Self::Server => Self::Conversation,
            Self::Refuse | Self::Never => Self::Refuse,
        }
    }
}

/// What the user allowed and forbade.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    /// By server and tool; the tool is absent for the whole server.
    rules: BTreeMap<(String, Option<String>), (ApprovalRule, Option<String>)>,
    /// Allowed until the application ends: conversation, server, tool, definition.
    conversations: BTreeSet<(String, String, String, String)>,
}

/// Why the user is asked.
pub(super) enum Standing {
    /// The call may be made; says by what.
    Allowed(&'static str),
    /// It may not.
    Forbidden,
    /// The user must be asked; says why.
    Ask(String),
}

impl Approvals {
    pub(super) async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut rules = BTreeMap::new();
        for row in store.approvals().await? {
            let rule = match row.rule.as_str() {
                "allow" if row.tool.is_some() => ApprovalRule::AllowTool,
                "allow" => ApprovalRule::AllowServer,
                "never" => ApprovalRule::Never,
                _ => continue,
            };
            rules.insert((row.server_id, row.tool), (rule, row.definition_hash));
        }
        Ok(Self { rules, conversations: BTreeSet::new() })
    }

    fn rule(&self, server_id: &str, tool: Option<&str>) -> Option<&(ApprovalRule, Option<String>)> {
        self.rules.get(&(server_id.to_owned(), tool.map(str::to_owned)))
    }
}

/// What identifies a declaration: a changed one must be approved again.
pub(super) fn definition_hash(tool: &Tool) -> String {
    Sha256::digest(tool.raw.get()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Host {
    /// Whether a call may be made.
    pub(super) fn standing(&self, conversation_id: &str, server_id: &str, tool: &Tool) -> Standing {
        let approvals = lock(&self.0.approvals);
        let hash = definition_hash(tool);
        match approvals.rule(server_id, Some(&tool.name)) {
            Some((ApprovalRule::Never, _)) => return Standing::Forbidden,
            Some((_, approved)) if approved.as_deref() == Some(&hash) => {
                return Standing::Allowed("you allowed this tool");
            }
            Some(_) => return Standing::Ask(format!("{} has changed since you allowed it.", tool.name)),
            None => {}
        }
        if approvals.rule(server_id, None).is_some() {
            return Standing::Allowed("you allowed this server");
        }
        let here = (conversation_id.to_owned(), server_id.to_owned(), tool.name.clone(), hash);
        if approvals.conversations.contains(&here) {
            return Standing::Allowed("you allowed this tool in this conversation");
        }
        Standing::Ask("You have not allowed this tool yet.".to_owned())
    }

    /// Keeps what an answer says beyond the one call.
    pub(super) async fn remember(
        &self,
        choice: ApprovalChoice,
        conversation_id: &str,
        server_id: &str,
        tool: &Tool,
    ) -> Result<(), HostError> {
        let (name, hash) = (tool.name.clone(), definition_hash(tool));
        match choice {
            ApprovalChoice::Once | ApprovalChoice::Refuse => Ok(()),
            ApprovalChoice::Conversation => {
                let here = (conversation_id.to_owned(), server_id.to_owned(), name, hash);
                lock(&self.0.approvals).conversations.insert(here);
                Ok(())
            }
            ApprovalChoice::Tool => {
                self.put_rule(server_id, Some(name), ApprovalRule::AllowTool, Some(hash)).await
            }
            ApprovalChoice::Server => self.put_rule(server_id, None, ApprovalRule::AllowServer, None).await,
            ApprovalChoice::Never => self.put_rule(server_id, Some(name), ApprovalRule::Never, None).await,
        }
    }

    async fn put_rule(
        &self,
        server_id: &str,
        tool: Option<String>,
        rule: ApprovalRule,
        definition_hash: Option<String>,
    ) -> Result<(), HostError> {
        let key = (server_id.to_owned(), tool.clone());
        lock(&self.0.approvals).rules.insert(key, (rule, definition_hash.clone()));
        let word = if rule == ApprovalRule::Never { "never" } else { "allow" };
        let row = Approval { server_id: server_id.to_owned(), tool, rule: word.to_owned(), definition_hash };
        self.store().put_approval(row).await?;
        self.tell_server(server_id);
        Ok(())
    }

    /// Takes back what was allowed or forbidden for a tool, or everything for a server.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn revoke_approval(&self, server_id: &str, tool: Option<String>) -> Result<(), HostError> {
        let gone: Vec<Option<String>> = {
            let mut approvals = lock(&self.0.approvals);
            let whole = tool.is_none();
            let matches =
                |(server, name): &(String, Option<String>)| server == server_id && (whole || *name == tool);
            approvals
                .conversations
                .retain(|it| it.1 != server_id || !(whole || Some(&it.2) == tool.as_ref()));
            let gone = approvals.rules.keys().filter(|it| matches(it)).map(|it| it.1.clone()).collect();
            approvals.rules.retain(|key, _| !matches(key));
            gone
        };
        for name in gone {
            self.store().delete_approval(server_id, name).await?;
        }
        self.tell_server(server_id);
        Ok(())
    }

    /// What stands for a tool beyond conversations.
    pub fn approval_of(&self, server_id: &str, tool: &str) -> ApprovalRule {
        let approvals = lock(&self.0.approvals);
        let own = approvals.rule(server_id, Some(tool)).map(|it| it.0);
        own.or_else(|| approvals.rule(server_id, None).map(|it| it.0)).unwrap_or(ApprovalRule::Ask)
    }

    fn tell_server(&self, server_id: &str) {
        if let Some(server) = self.server(server_id) {
            self.tell(super::HostEvent::Server(Box::new(server.status())));
        }
    }
}
