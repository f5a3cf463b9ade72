//! `usher demo`: the first conversation of the window, in the terminal.
//!
//! Everything is real: a child process that serves the sample tools, the demo model, the routing, the recorded bytes. Only the approvals
//! are given in advance, and the text says so. Deliberately absent: anything that could be shown without having happened.

use std::{cell::RefCell, fmt::Write};

use clap::Args;
use serde_json::json;
use usher_engine::{Consumer, Mode, selection::Consumers};
use usher_host::{
    conversation::{
        ApprovalChoice, CallRecord, CallState, ExchangeRecord, Host, ItemBody, Opened, ScriptLine,
        SourceKind, StoredSpec, TurnState, ViewReply,
    },
    model::ToolChoice,
};
use usher_protocol::{RawJson, model::Audience};

use super::{
    report::{Part, Report, bytes, json_lines},
    script,
    session::{Approval, Exit, Failure, Place, Session},
    terminal::{Paint, Tone, WIDTH, clean, clean_line, head, out, size, wrap},
};

/// The script of the demo. It reads records, and only a few numbers leave it.
const SCRIPT: &str = r#"const page = await tools.Sample.search_customers({ query: "Globex" });
const ids = page.items.map((it) => it.id);
return {
  matching: page.total,
  read: ids.length,
  highestId: ids.reduce((a, b) => (a > b ? a : b)),
};"#;

/// Play the demo conversation here: real server, real routing, four audiences shown apart
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Without colours and box characters
    #[arg(long)]
    plain: bool,
}

/// Plays it.
pub(super) async fn run(options: Options) -> Result<Exit, Failure> {
    let paint = Paint::of_stdout(options.plain);
    let approval = Approval::Given(ApprovalChoice::Server);
    let session = Session::open(Place::Temporary, Consumers::WINDOW, approval).await?;
    let mut demo = Demo { session, paint, conversation: String::new(), seen: Vec::new() };
    let played = demo.play().await;
    demo.session.close().await;
    played.map(|()| Exit::Fine)
}

struct Demo {
    session: Session,
    paint: Paint,
    conversation: String,
    /// The calls that were shown.
    seen: Vec<String>,
}

impl Demo {
    async fn play(&mut self) -> Result<(), Failure> {
        self.say(&format!(
            "{}\n",
            self.paint.tone(Tone::Strong, "Usher: one conversation, each result to its own audience")
        ));
        let intro = "What follows is a real run. The sample server is a child process that speaks MCP; the demo model has no weights and only matches words to tools; data goes to a temporary folder. Calls are approved automatically here. The window asks you.";
        self.say(&lines(intro));
        let server = self.session.ready("sample").await?;
        let revision = server.revision.map_or_else(String::new, |it| it.to_string());
        let name = clean_line(server.server_info.as_deref().unwrap_or(&server.name));
        self.say(&lines(&format!("Server: {name}, revision {revision}, {} tools.", server.tools.len())));

        self.converse(Mode::Chat).await?;
        self.message(
            "Which Globex accounts were active this week?",
            &[Consumer::Model, Consumer::User, Consumer::View],
        )
        .await?;
        self.view_call().await?;
        self.message("Make images of a sunrise over the bay", &[Consumer::Model, Consumer::User]).await?;
        self.summary().await?;
        self.script().await?;
        self.misbehaving().await?;
        self.say(&format!(
            "\n{}\n",
            self.paint.tone(
                Tone::Strong,
                "Every step worked. `usher` opens a window in which you can do the same yourself."
            )
        ));
        Ok(())
    }

    fn say(&self, text: &str) {
        out(text);
    }

    async fn converse(&mut self, mode: Mode) -> Result<(), Failure> {
        self.conversation = self.session.host.create_conversation(Some(mode), None).await?.id;
        Ok(())
    }

    /// Sends a message, waits for the answer, and shows where the results went.
    async fn message(&mut self, text: &str, expected: &[Consumer]) -> Result<Vec<CallRecord>, Failure> {
        self.say(&format!("\n{}\n", self.paint.rule(&format!("You: {text}"))));
        let opened = turn(&mut self.session, &self.conversation, text, ToolChoice::Auto).await?;
        let calls = self.fresh(&opened);
        let exchange = opened.exchanges.last().map(|it| it.id.clone());
        for call in &calls {
            let report = Report::gather(&self.session.host, call, exchange.as_deref()).await;
            self.say(&report.text(self.paint));
            check(call, expected)?;
        }
        if calls.is_empty() {
            return Err(broken("the demo model called no tool"));
        }
        let answer = opened.items.iter().rev().find(|it| matches!(it.body, ItemBody::Assistant(_)));
        let answer = answer.map(|it| it.text.as_str()).unwrap_or_default();
        self.say(&format!("  {}\n", self.paint.tone(Tone::Strong, "Answer")));
        for line in head(&clean(answer), WIDTH - 6, 6).iter().filter(|it| !it.is_empty()) {
            self.say(&format!("      {line}\n"));
        }
        Ok(calls)
    }

    /// The calls that were not shown yet, in order.
    fn fresh(&mut self, opened: &Opened) -> Vec<CallRecord> {
        let mut calls: Vec<CallRecord> =
            opened.calls.values().filter(|it| !self.seen.contains(&it.id)).cloned().collect();
        calls.sort_by_key(|it| it.number);
        self.seen.extend(calls.iter().map(|it| it.id.clone()));
        calls
    }

    /// Opens the View of the last search as the window would, and lets it call the tool that is for Views only.
    async fn view_call(&mut self) -> Result<(), Failure> {
        self.say(&format!("\n{}\n", self.paint.rule("The View of that search asks for fresh data")));
        let host = self.session.host.clone();
        let call_id = self.seen.last().cloned().unwrap_or_default();
        let asked = json!({"name": "refresh_dashboard", "arguments": {"region": "EMEA"}}).to_string();
        let work = async {
            let launch = host.open_view(&call_id).await?;
            let reply = host.view_request(&launch.view_id, 1, "tools/call", &asked).await?;
            host.close_view(&launch.view_id);
            Ok::<_, usher_host::conversation::HostError>((launch, reply))
        };
        let stop = host.clone();
        let (launch, reply) = self.session.follow(work, |_| stop.cancel_call(&call_id), |_| {}).await??;
        let handed = launch.result().cloned().ok_or_else(|| broken("the View was handed no result"))?;
        let intro = "There is no frame here to draw it in. These are the messages that would cross into it, as the window would send them.";
        self.say(&lines(intro));
        let part = |title: String, json: &RawJson| {
            let report = Report {
                parts: vec![Part { audience: Audience::ui(), title, door: None, lines: json_lines(json) }],
                ..Report::default()
            };
            report.text(self.paint)
        };
        self.say(&part(format!("is handed the selected output, {}", size(handed.bytes())), &handed));
        match reply {
            ViewReply::Result(result) => {
                self.say(&part(
                    format!("calls refresh_dashboard and receives {}", size(result.bytes())),
                    &result,
                ));
            }
            ViewReply::Error(error) => {
                return Err(broken(format!("the View's call failed: {}", error.message)));
            }
        }
        let opened = self.session.host.open_conversation(&self.conversation).await?;
        for call in self.fresh(&opened) {
            check(&call, &[Consumer::View])?;
            if call.deliveries.iter().any(|it| it.to != Consumer::View) {
                return Err(broken("a View's call reached somebody else"));
            }
        }
        self.say(&lines(
            "Nobody else received anything of that call: the model does not even know the tool.",
        ));
        Ok(())
    }

    /// What fills the model's context, and what routing kept out of it.
    async fn summary(&mut self) -> Result<(), Failure> {
        self.say(&format!("\n{}\n", self.paint.rule("The model's context after these messages")));
        let opened = self.session.host.open_conversation(&self.conversation).await?;
        let last = opened.exchanges.last().ok_or_else(|| broken("no request to the model was recorded"))?;
        let sent = self.session.host.exchange_body(&last.id).await?;
        if sent.body.len() as u64 != last.bytes {
            return Err(broken("the recorded request is not the one that was sent"));
        }
        self.say(&context(last, self.paint));
        Ok(())
    }

    /// A script in Code mode: it gets records, and what it returns goes to whoever started it.
    async fn script(&mut self) -> Result<(), Failure> {
        self.say(&format!("\n{}\n", self.paint.rule("You run a script (mode Code)")));
        self.converse(Mode::Code).await?;
        for line in SCRIPT.lines() {
            self.say(&format!("      {}\n", self.paint.tone(Tone::Faint, line)));
        }
        let ended: RefCell<Result<String, String>> = RefCell::new(Err("it did not end".to_owned()));
        script::follow(&mut self.session, &self.conversation, SCRIPT, |line| match line {
            ScriptLine::Returned(json) => *ended.borrow_mut() = Ok(json.clone()),
            ScriptLine::Failed(why) | ScriptLine::Stopped(why) => *ended.borrow_mut() = Err(why.clone()),
            ScriptLine::Log(..) | ScriptLine::Call { .. } => {}
        })
        .await?;
        let opened = self.session.host.open_conversation(&self.conversation).await?;
        for call in self.fresh(&opened) {
            self.say(&Report::gather(&self.session.host, &call, None).await.text(self.paint));
            check(&call, &[Consumer::Script])?;
        }
        let returned = ended.into_inner().map_err(|why| broken(format!("the script failed: {why}")))?;
        self.say(&lines(&format!("The script returned {}", clean_line(&returned))));
        self.say(&lines("Neither the records nor this value reached the model."));
        Ok(())
    }

    /// The same search on a server that breaks the contract on purpose.
    async fn misbehaving(&mut self) -> Result<(), Failure> {
        self.say(&format!("\n{}\n", self.paint.rule("The same server, misbehaving on purpose")));
        self.say(&lines(
            "It adds an output that nobody asked for and hides data in the result's _meta. Neither may reach anybody.",
        ));
        self.session.host.enable_server("sample", false).await?;
        let args = ["sample-server", "--unrequested-output", "--meta-secrets"];
        let spec = StoredSpec::built_in(args.iter().map(|it| (*it).to_owned()).collect());
        let id = self.session.host.save_server(None, "Misbehaving".to_owned(), spec).await?;
        self.session.ready(&id).await?;
        self.converse(Mode::Data).await?;
        let calls = self.message("Search customers named Tessaly", &[Consumer::Model]).await?;
        if calls.iter().any(|it| it.withheld.is_empty() || it.defects.is_empty()) {
            return Err(broken("what the server sent against the contract was not withheld"));
        }
        Ok(())
    }
}

/// Sends a message and waits until the turn has ended.
async fn turn(
    session: &mut Session,
    conversation: &str,
    text: &str,
    choice: ToolChoice,
) -> Result<Opened, Failure> {
    let host = session.host.clone();
    let work = async {
        host.send_message(conversation, text, choice).await?;
        ended(&host, conversation).await
    };
    let stopped = conversation.to_owned();
    let stop = |host: &Host| {
        let (host, conversation) = (host.clone(), stopped.clone());
        tokio::spawn(async move { host.stop_turn(&conversation).await });
    };
    let opened = session.follow(work, stop, |_| {}).await??;
    match &opened.turn {
        TurnState::Failed(failure) => Err(broken(format!("{} {}", failure.what, failure.todo))),
        TurnState::Idle
        | TurnState::Waiting
        | TurnState::Streaming
        | TurnState::Tools { .. }
        | TurnState::Approval { .. } => Ok(opened),
    }
}

/// Waits until a turn has ended and says how.
pub(super) async fn ended(
    host: &Host,
    conversation: &str,
) -> Result<Opened, usher_host::conversation::HostError> {
    loop {
        host.turn_ended(conversation).await;
        let opened = host.open_conversation(conversation).await?;
        if matches!(opened.turn, TurnState::Idle | TurnState::Failed(_)) {
            return Ok(opened);
        }
        tokio::task::yield_now().await;
    }
}

fn check(call: &CallRecord, expected: &[Consumer]) -> Result<(), Failure> {
    if call.state != CallState::Done {
        return Err(broken(format!("{} did not succeed", call.tool)));
    }
    for consumer in expected {
        if !call.deliveries.iter().any(|it| it.to == *consumer) {
            return Err(broken(format!("{} gave nothing to {}", call.tool, consumer.name())));
        }
    }
    Ok(())
}

fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Broken, format!("The demo did not work: {}.", what.to_string().trim_end_matches('.')))
}

fn lines(text: &str) -> String {
    wrap(text, WIDTH - 2).iter().fold(String::new(), |mut all, it| {
        let _ = writeln!(all, "  {it}");
        all
    })
}

/// A request by the sources of its bytes.
pub(super) fn context(sent: &ExchangeRecord, paint: Paint) -> String {
    const BAR: u64 = 36;
    let mut text = String::new();
    let kinds = [
        (SourceKind::Results, "tool results", Tone::Model),
        (SourceKind::Messages, "messages", Tone::Strong),
        (SourceKind::Tools, "tool declarations", Tone::Faint),
        (SourceKind::Host, "Usher's own words", Tone::Faint),
        (SourceKind::Envelope, "provider's format", Tone::Faint),
    ];
    let kept_out = sent.measure.kept_out_bytes;
    let most = kinds.iter().map(|(kind, _, _)| of(sent, *kind)).chain([kept_out]).max().unwrap_or(0);
    for (kind, word, tone) in kinds {
        let count = of(sent, kind);
        let _ = writeln!(
            text,
            "  {word:<18} {:>9}  {}",
            bytes(count),
            paint.tone(tone, &paint.bar(count, most, BAR))
        );
    }
    let bar = paint.tone(Tone::Wrong, &paint.bar(kept_out, most, BAR));
    let _ = writeln!(text, "  {:<18} {:>9}  {bar}", "kept out", bytes(kept_out));
    let window = sent.measure.context_tokens.map_or_else(String::new, |it| format!(" of {it}"));
    let _ =
        writeln!(text, "  The request: {} bytes, about {}{window} tokens.", sent.bytes, sent.measure.tokens);
    let _ = writeln!(text, "  SHA-256 {}", sent.sha256);
    text
}

fn of(sent: &ExchangeRecord, kind: SourceKind) -> u64 {
    sent.share.iter().filter(|it| it.kind == kind).map(|it| it.bytes).sum()
}
