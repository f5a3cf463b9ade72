//! Drives the test build as a host under test, by the interface that its page offers (`ui/src/host-test.ts`), and keeps what each check
//! found.
//!
//! Deliberately absent: what must hold; the tests say it.

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::window::Window;

/// Calls a method of the interface. What it throws is a text or the window's own three sentences; of an element, its attributes cross.
const CALL: &str = "
    const [method, given, done] = arguments;
    const attributes = (it) => Object.fromEntries(it.getAttributeNames().map((name) => [name, it.getAttribute(name)]));
    const told = (value) => (value instanceof HTMLIFrameElement ? attributes(value) : value ?? null);
    const failed = (error) => done({ error: String(error?.what ?? error?.message ?? error) });
    Promise.resolve(window.usherHostTest[method](...given)).then((value) => done({ value: told(value) }), failed);";

/// The interface of a window.
#[derive(Clone, Copy)]
pub struct HostInterface<'a> {
    window: &'a Window,
}

impl<'a> HostInterface<'a> {
    /// Waits until the page offers it.
    ///
    /// # Errors
    /// When it does not, as in the product.
    pub async fn of(window: &'a Window) -> anyhow::Result<Self> {
        let there = "return typeof window.usherHostTest === 'object'";
        window.until("the page can be driven", async || Ok(window.run(there).await? == true)).await?;
        Ok(Self { window })
    }

    /// Opens the View of a tool in a fresh conversation and gives the attributes of its frame.
    ///
    /// # Errors
    /// When there is no such tool, or its View does not open.
    pub async fn display_test_app(&self, suite: &str, input: &Value) -> anyhow::Result<Value> {
        self.call("displayTestApp", json!([suite, input])).await
    }

    /// Takes away what the interface made.
    ///
    /// # Errors
    /// When something stays.
    pub async fn reset_environment(&self) -> anyhow::Result<()> {
        self.call("resetEnvironment", json!([])).await.map(drop)
    }

    /// What the user sees: members with `role` and `text`.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn conversation(&self) -> anyhow::Result<Value> {
        self.call("getConversation", json!([])).await
    }

    /// What the model got last: `messages` and `tools`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn conversation_context(&self) -> anyhow::Result<Value> {
        self.call("getConversationContext", json!([])).await
    }

    /// Changes what Views are told of their surroundings.
    ///
    /// # Errors
    /// When Usher cannot change that.
    pub async fn change_host_context(&self, change: &Value) -> anyhow::Result<()> {
        self.call("changeHostContext", json!([change])).await.map(drop)
    }

    /// Answers the question that is shown or comes, and gives its text.
    ///
    /// # Errors
    /// When nothing is asked.
    pub async fn confirm_action(&self, yes: bool) -> anyhow::Result<String> {
        let asked = self.call("confirmAction", json!([yes])).await?;
        Ok(asked.as_str().unwrap_or_default().to_owned())
    }

    /// Sends a message and waits for the answer.
    ///
    /// # Errors
    /// When the turn fails.
    pub async fn send_message(&self, text: &str) -> anyhow::Result<()> {
        self.call("sendMessage", json!([text])).await.map(drop)
    }

    /// Calls a tool as the user does: its `state`, and what the user is `shown`.
    ///
    /// # Errors
    /// When there is no such tool, or the call could not begin.
    pub async fn call_tool(&self, name: &str, arguments: &Value) -> anyhow::Result<Value> {
        self.call("callTool", json!([name, arguments])).await
    }

    /// The tools that Views offer themselves: members with `view`, `name`, `description` and `inputSchema`.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn app_tools(&self) -> anyhow::Result<Value> {
        self.call("getAppTools", json!([])).await
    }

    async fn call(&self, method: &str, given: Value) -> anyhow::Result<Value> {
        let mut answer = self.window.client().execute_async(CALL, vec![json!(method), given]).await?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(anyhow::anyhow!("{method}: {error}")),
            None => {
                answer.get_mut("value").map(Value::take).with_context(|| format!("{method} gave nothing"))
            }
        }
    }
}

/// What each check found, in the order in which they were made.
#[derive(Debug, Default)]
pub struct Report(Vec<(String, Result<(), String>)>);

impl Report {
    /// Keeps what a check found.
    pub fn keep(&mut self, name: &str, found: Result<(), String>) {
        self.0.push((name.to_owned(), found));
    }

    /// Keeps whether something holds, with what was there instead.
    pub fn holds(&mut self, name: &str, holds: bool, otherwise: impl ToString) {
        self.keep(name, if holds { Ok(()) } else { Err(otherwise.to_string()) });
    }

    /// A line for each check, `pass` or `FAIL` with the reason.
    #[must_use]
    pub fn lines(&self) -> String {
        let line = |(name, found): &(String, Result<(), String>)| match found {
            Ok(()) => format!("pass  {name}"),
            Err(why) => format!("FAIL  {name}: {why}"),
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// How many checks were made, and how many failed.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.0.len(), self.0.iter().filter(|it| it.1.is_err()).count())
    }
}
