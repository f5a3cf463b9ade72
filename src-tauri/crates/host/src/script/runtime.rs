//! The thread of one script: QuickJS, its limits, and the loop that feeds it answers.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Exception, Function, Object, Persistent, Runtime, Value,
    context::EvalOptions,
};
use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;
use usher_protocol::RawJson;

use super::{Command, Limits, LogLevel, ScriptApi, ScriptEvent, StopReason, names::identifiers};

const PRELUDE: &str = include_str!("prelude.js");

/// The name that marks the user's lines in a stack.
const FILE: &str = "script";

/// What one printed line costs beside its bytes, so that endless empty lines also end.
const LINE_COST: usize = 32;

/// How many `sleep`s may be open at once.
const MAX_SLEEPERS: usize = 1_000;

/// The longest message of a failure, in bytes.
const MAX_MESSAGE: usize = 8 << 10;

/// Runs a script to its end and tells of it; the last event is the end.
pub(super) fn run(
    source: &str,
    api: &ScriptApi,
    limits: Limits,
    events: &UnboundedSender<ScriptEvent>,
    inbox: Receiver<Command>,
    stop: Arc<AtomicBool>,
) {
    let world = Rc::new(World::new(api, limits, events.clone(), stop));
    let end = match execute(source, api, &world, &inbox) {
        Ok(end) => end,
        Err(error) => ScriptEvent::Failed { message: format!("The script engine failed: {error}") },
    };
    let end = match world.stopped.get() {
        Some(why) => ScriptEvent::Stopped { why },
        None => end,
    };
    // Nobody listens any more: then nobody misses it.
    let _ = events.send(end);
}

/// What the host's functions and the loop share. It holds no JavaScript value.
struct World {
    /// Each server with its tools: a script that gets at the host's functions can still call nothing else.
    callable: BTreeSet<(String, String)>,
    limits: Limits,
    events: UnboundedSender<ScriptEvent>,
    stop: Arc<AtomicBool>,
    stopped: Cell<Option<StopReason>>,
    deadline: Cell<Instant>,
    output_left: Cell<usize>,
    arguments_left: Cell<usize>,
    next_id: Cell<u64>,
    calls_made: Cell<usize>,
    open_calls: RefCell<BTreeSet<u64>>,
    sleepers: RefCell<BTreeSet<(Instant, u64)>>,
    end: RefCell<Option<ScriptEvent>>,
}

impl World {
    fn new(
        api: &ScriptApi,
        limits: Limits,
        events: UnboundedSender<ScriptEvent>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let now = Instant::now();
        let callable = api
            .servers
            .iter()
            .flat_map(|server| server.tools.iter().map(|tool| (server.slug.clone(), tool.name.clone())));
        Self {
            callable: callable.collect(),
            limits,
            events,
            stop,
            stopped: Cell::new(None),
            deadline: Cell::new(now.checked_add(limits.time).unwrap_or(now)),
            output_left: Cell::new(limits.output),
            arguments_left: Cell::new(limits.memory),
            next_id: Cell::new(1),
            calls_made: Cell::new(0),
            open_calls: RefCell::default(),
            sleepers: RefCell::default(),
            end: RefCell::default(),
        }
    }

    /// Why the script must end now, if it must. The first reason stays.
    fn must_stop(&self) -> Option<StopReason> {
        if self.stopped.get().is_none() {
            if self.stop.load(Ordering::Relaxed) {
                self.stopped.set(Some(StopReason::Asked));
            } else if Instant::now() >= self.deadline.get() {
                self.stopped.set(Some(StopReason::Time));
            }
        }
        self.stopped.get()
    }

    fn stop_because(&self, ctx: &Ctx<'_>, why: StopReason) -> rquickjs::Error {
        if self.stopped.get().is_none() {
            self.stopped.set(Some(why));
        }
        // The script may catch this; the loop and the interrupt handler end it all the same.
        Exception::throw_message(ctx, &why.to_string())
    }

    /// Refuses what a script still does after it was ended.
    fn check(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        self.must_stop().map_or(Ok(()), |why| Err(self.stop_because(ctx, why)))
    }

    fn spend(&self, ctx: &Ctx<'_>, bytes: usize) -> rquickjs::Result<()> {
        let left = self.output_left.get().checked_sub(bytes);
        let left = left.ok_or_else(|| self.stop_because(ctx, StopReason::Output))?;
        self.output_left.set(left);
        Ok(())
    }

    fn fresh_id(&self) -> u64 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        id
    }

    fn log(&self, ctx: &Ctx<'_>, level: &str, text: String) -> rquickjs::Result<()> {
        self.check(ctx)?;
        self.spend(ctx, text.len().saturating_add(LINE_COST))?;
        let level = match level {
            "info" => LogLevel::Info,
            "warn" => LogLevel::Warn,
            "error" => LogLevel::Error,
            _ => LogLevel::Log,
        };
        let _ = self.events.send(ScriptEvent::Log { level, text });
        Ok(())
    }

    fn call(&self, ctx: &Ctx<'_>, server: String, tool: String, arguments: String) -> rquickjs::Result<u64> {
        self.check(ctx)?;
        let key = (server, tool);
        if !self.callable.contains(&key) {
            return Err(Exception::throw_type(ctx, "there is no such tool"));
        }
        let (server, tool) = key;
        if self.calls_made.get() >= self.limits.calls {
            return Err(self.stop_because(ctx, StopReason::Calls));
        }
        let left = self.arguments_left.get().checked_sub(arguments.len());
        self.arguments_left.set(left.ok_or_else(|| self.stop_because(ctx, StopReason::Memory))?);
        let arguments = RawJson::parse(arguments)
            .map_err(|error| Exception::throw_type(ctx, &format!("the arguments are not JSON: {error}")))?;
        if !arguments.is_object() {
            return Err(Exception::throw_type(ctx, "the arguments are not an object"));
        }
        let id = self.fresh_id();
        self.calls_made.set(self.calls_made.get() + 1);
        self.open_calls.borrow_mut().insert(id);
        let _ = self.events.send(ScriptEvent::Call { id, server, tool, arguments });
        Ok(id)
    }

    fn sleep(&self, ctx: &Ctx<'_>, ms: f64) -> rquickjs::Result<u64> {
        self.check(ctx)?;
        if self.sleepers.borrow().len() >= MAX_SLEEPERS {
            return Err(Exception::throw_range(ctx, "too many sleeps at once"));
        }
        // A sleep that is longer than the limit ends with the limit.
        let longest = self.limits.time.saturating_add(Duration::from_secs(1));
        let time = Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).unwrap_or(longest).min(longest);
        let now = Instant::now();
        let id = self.fresh_id();
        self.sleepers.borrow_mut().insert((now.checked_add(time).unwrap_or(now), id));
        Ok(id)
    }

    fn returned(&self, ctx: &Ctx<'_>, text: String) -> rquickjs::Result<()> {
        self.spend(ctx, text.len())?;
        let json = RawJson::parse(text)
            .map_err(|error| Exception::throw_type(ctx, &format!("the value is not JSON: {error}")))?;
        self.end.borrow_mut().get_or_insert(ScriptEvent::Returned { json });
        Ok(())
    }

    fn failed(&self, text: &str, stack: &str) {
        if is_out_of_memory(text) {
            self.stopped.set(self.stopped.get().or(Some(StopReason::Memory)));
        }
        *self.end.borrow_mut() = Some(failure(text, stack));
    }

    fn has_failed(&self) -> bool {
        matches!(*self.end.borrow(), Some(ScriptEvent::Failed { .. }))
    }
}

fn execute(
    source: &str,
    api: &ScriptApi,
    world: &Rc<World>,
    inbox: &Receiver<Command>,
) -> rquickjs::Result<ScriptEvent> {
    let runtime = Runtime::new()?;
    runtime.set_max_stack_size(world.limits.stack);
    runtime.set_memory_limit(world.limits.memory);
    let watched = Rc::clone(world);
    runtime.set_interrupt_handler(Some(Box::new(move || watched.must_stop().is_some())));
    let context = Context::full(&runtime)?;
    let unwatched = Rc::new(Unwatched::default());
    let told = Rc::clone(&unwatched);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
        told.note(&ctx, promise, reason, handled);
    })));
    context.with(|ctx| {
        let end = match start(&ctx, source, api, world) {
            Ok(entry) => turn(&ctx, &entry, world, inbox),
            Err(error) => Ok(caught(world, error)),
        };
        // Empties the list in every case: its values must not outlive the engine.
        unwatched.tell(&ctx, world, matches!(end, Ok(ScriptEvent::Returned { .. })));
        end
    })
}

/// Promises that failed while nobody waited for them, with what they failed with.
#[derive(Default)]
struct Unwatched(RefCell<Vec<(Persistent<Value<'static>>, String)>>);

/// How many of them are told.
const MAX_UNWATCHED: usize = 20;

impl Unwatched {
    fn note<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>, reason: Value<'js>, handled: bool) {
        // Reading what was thrown may run the script's own getters, so nothing is borrowed meanwhile.
        let known = self.0.borrow().len();
        if !handled && known < MAX_UNWATCHED {
            let (text, stack) = describe(reason);
            self.0.borrow_mut().push((Persistent::save(ctx, promise), with_line(text, &stack)));
        } else if handled {
            self.0.borrow_mut().retain(|(it, _)| it.clone().restore(ctx).map_or(true, |it| it != promise));
        }
    }

    /// A failure that nobody saw would look like success.
    fn tell(&self, ctx: &Ctx<'_>, world: &World, returned: bool) {
        for (_, text) in self.0.take() {
            if returned {
                // Where the output is full, the run has ended for that reason.
                let _ = world.log(
                    ctx,
                    "warn",
                    format!("A call or function failed and nothing awaited it: {text}"),
                );
            }
        }
    }
}

/// What the prelude gives back.
struct Entry<'js> {
    settle: Function<'js>,
    wake: Function<'js>,
}

fn start<'js>(
    ctx: &Ctx<'js>,
    source: &str,
    api: &ScriptApi,
    world: &Rc<World>,
) -> Result<Entry<'js>, CaughtError<'js>> {
    let set_up = || -> rquickjs::Result<Entry<'js>> {
        let prelude: Function<'js> = ctx.eval_with_options(PRELUDE, options("host"))?;
        let entry: Object<'js> = prelude.call((host(ctx, world)?, ctx.json_parse(catalog(api))?))?;
        // The source starts on the first line, so that lines in errors are those of the user; its last line may be a comment.
        let main: Function<'js> =
            ctx.eval_with_options(format!("(async () => {{{source}\n}})"), options(FILE))?;
        entry.get::<_, Function<'js>>("run")?.call::<_, ()>((main,))?;
        Ok(Entry { settle: entry.get("settle")?, wake: entry.get("wake")? })
    };
    set_up().catch(ctx)
}

fn options(file: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.filename = Some(file.to_owned());
    options
}

fn host<'js>(ctx: &Ctx<'js>, world: &Rc<World>) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let it = Rc::clone(world);
    let log = move |ctx: Ctx<'js>, level: String, text: String| it.log(&ctx, &level, text);
    host.set("log", Function::new(ctx.clone(), log)?)?;
    let it = Rc::clone(world);
    let call =
        move |ctx: Ctx<'js>, server: String, tool: String, args: String| it.call(&ctx, server, tool, args);
    host.set("call", Function::new(ctx.clone(), call)?)?;
    let it = Rc::clone(world);
    host.set("sleep", Function::new(ctx.clone(), move |ctx: Ctx<'js>, ms: f64| it.sleep(&ctx, ms))?)?;
    let it = Rc::clone(world);
    host.set(
        "returned",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, text: String| it.returned(&ctx, text))?,
    )?;
    let it = Rc::clone(world);
    host.set(
        "failed",
        Function::new(ctx.clone(), move |text: String, stack: String| it.failed(&text, &stack))?,
    )?;
    Ok(host)
}

/// The names of servers and tools: each with its own name and, where it is no identifier, one that is.
fn catalog(api: &ScriptApi) -> String {
    let both = |name: &str, identifier: &String| {
        if name == identifier { json!([name]) } else { json!([name, identifier]) }
    };
    let servers = identifiers(api.servers.iter().map(|it| it.slug.as_str()));
    let servers: Vec<_> = api
        .servers
        .iter()
        .zip(&servers)
        .map(|(server, identifier)| {
            let tools = identifiers(server.tools.iter().map(|it| it.name.as_str()));
            let mut seen = BTreeSet::new();
            let members: Vec<_> = server
                .tools
                .iter()
                .zip(&tools)
                .filter(|(tool, _)| seen.insert(tool.name.as_str()))
                .map(|(tool, identifier)| both(&tool.name, identifier))
                .collect();
            json!({"names": both(&server.slug, identifier), "members": members})
        })
        .collect();
    json!(servers).to_string()
}

/// Runs jobs and takes answers until the script has ended and nothing that it started is open.
fn turn<'js>(
    ctx: &Ctx<'js>,
    entry: &Entry<'js>,
    world: &World,
    inbox: &Receiver<Command>,
) -> rquickjs::Result<ScriptEvent> {
    loop {
        while world.must_stop().is_none() && ctx.execute_pending_job() {}
        if let Some(why) = world.must_stop() {
            return Ok(ScriptEvent::Stopped { why });
        }
        let idle = world.open_calls.borrow().is_empty() && world.sleepers.borrow().is_empty();
        if idle || world.has_failed() {
            let stuck = || ScriptEvent::Failed {
                message: "The script waits for something that never comes.".to_owned(),
            };
            return Ok(world.end.borrow_mut().take().unwrap_or_else(stuck));
        }
        if let Some(Command::Answer { id, answer }) = wait(world, inbox)
            && world.open_calls.borrow_mut().remove(&id)
        {
            let (ok, text) = match &answer {
                Ok(json) => (true, json.get()),
                Err(message) => (false, message.as_str()),
            };
            if let Err(error) = entry.settle.call::<_, ()>((id, ok, text)).catch(ctx) {
                return Ok(caught(world, error));
            }
        }
        let due = world.sleepers.borrow().range(..=(Instant::now(), u64::MAX)).copied().collect::<Vec<_>>();
        for sleeper in due {
            world.sleepers.borrow_mut().remove(&sleeper);
            if let Err(error) = entry.wake.call::<_, ()>((sleeper.1,)).catch(ctx) {
                return Ok(caught(world, error));
            }
        }
    }
}

/// Waits for a command, the next sleeper or the end of the time.
fn wait(world: &World, inbox: &Receiver<Command>) -> Option<Command> {
    let next = world.sleepers.borrow().first().map(|it| it.0);
    let before = Instant::now();
    let received = match next {
        // Only answers are awaited: the clock of the script stands still meanwhile.
        None => {
            let received = inbox.recv().map_err(|_| RecvTimeoutError::Disconnected);
            let deadline = world.deadline.get();
            world.deadline.set(deadline.checked_add(before.elapsed()).unwrap_or(deadline));
            received
        }
        Some(next) => inbox.recv_timeout(next.min(world.deadline.get()).saturating_duration_since(before)),
    };
    match received {
        Ok(command) => Some(command),
        Err(RecvTimeoutError::Timeout) => None,
        // The run's handle is gone, so that nobody can answer any more.
        Err(RecvTimeoutError::Disconnected) => {
            world.stop.store(true, Ordering::Relaxed);
            None
        }
    }
}

fn caught(world: &World, error: CaughtError<'_>) -> ScriptEvent {
    let (text, stack) = match error {
        CaughtError::Error(error) => (error.to_string(), String::new()),
        CaughtError::Exception(it) => describe(it.into_object().into_value()),
        CaughtError::Value(value) => describe(value),
    };
    world.failed(&text, &stack);
    failure(&text, &stack)
}

/// What a thrown value says, and its stack.
fn describe(value: Value<'_>) -> (String, String) {
    if value.is_null() {
        return ("null".to_owned(), String::new());
    }
    let Some(error) = value.clone().into_exception() else {
        let text = value.as_string().and_then(|it| it.to_string().ok());
        return (text.unwrap_or_else(|| "a value that is not an error was thrown".to_owned()), String::new());
    };
    let name = error.as_object().get::<_, String>("name").unwrap_or_else(|_| "Error".to_owned());
    let described =
        (format!("{name}: {}", error.message().unwrap_or_default()), error.stack().unwrap_or_default());
    // A getter of the script may have thrown meanwhile; that is of no further interest.
    value.ctx().catch();
    described
}

fn is_out_of_memory(text: &str) -> bool {
    matches!(text, "out of memory" | "InternalError: out of memory")
}

fn failure(text: &str, stack: &str) -> ScriptEvent {
    ScriptEvent::Failed { message: with_line(text.to_owned(), stack) }
}

fn with_line(mut text: String, stack: &str) -> String {
    if text.len() > MAX_MESSAGE {
        text.truncate(text.floor_char_boundary(MAX_MESSAGE));
        text.push('…');
    }
    match line_of(stack) {
        Some(line) => format!("{text} (line {line})"),
        None => text,
    }
}

/// The line of the user's source that a stack names first.
fn line_of(stack: &str) -> Option<u32> {
    stack.lines().find_map(|frame| {
        let place = frame.rsplit_once([' ', '(']).map_or(frame, |it| it.1);
        let place = place.trim_end_matches(')').strip_prefix(FILE)?.strip_prefix(':')?;
        place.split(':').next()?.parse().ok()
    })
}
