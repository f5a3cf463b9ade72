//! Runs of real scripts. A test plays the host: it answers the calls that the events tell of.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;
use tokio::sync::mpsc;
use usher_protocol::RawJson;

use super::*;

fn tool(name: &str) -> ScriptTool {
    ScriptTool {
        name: name.to_owned(),
        doc: String::new(),
        input_schema: json!({"type": "object"}).into(),
        output_schema: None,
    }
}

fn api() -> ScriptApi {
    let servers = vec![
        ScriptServer {
            slug: "demo".to_owned(),
            tools: vec![tool("echo"), tool("get-big"), tool("fail"), tool("deep")],
        },
        ScriptServer { slug: "my server".to_owned(), tools: vec![tool("echo")] },
    ];
    ScriptApi { servers }
}

fn roomy() -> Limits {
    Limits { time: Duration::from_secs(60), ..Limits::default() }
}

/// Runs a script; the host answers `echo` with its arguments. Gives one line an event.
fn trace(source: &str, limits: Limits) -> Vec<String> {
    let (sender, mut events) = mpsc::unbounded_channel();
    let run = ScriptRun::start(source.to_owned(), api(), limits, sender);
    let mut lines = Vec::new();
    while let Some(event) = events.blocking_recv() {
        lines.push(match event {
            ScriptEvent::Log { level, text } => format!("{} {text}", level.as_str()),
            ScriptEvent::Call { id, server, tool, arguments } => {
                run.answer(
                    id,
                    match tool.as_str() {
                        "get-big" => RawJson::parse(
                            r#"{"id":12345678901234567890123,"__proto__":1,"n":-9007199254740993,"f":1.5}"#,
                        )
                        .map_err(|it| it.to_string()),
                        "fail" => Err("no such city".to_owned()),
                        "deep" => RawJson::parse(format!("{}{}", "[".repeat(200_000), "]".repeat(200_000)))
                            .map_err(|it| it.to_string()),
                        _ => Ok(arguments.clone()),
                    },
                );
                format!("call {server}.{tool} {arguments}")
            }
            ScriptEvent::Returned { json } => format!("returned {json}"),
            ScriptEvent::Failed { message } => format!("failed {message}"),
            ScriptEvent::Stopped { why } => format!("stopped {why:?}"),
        });
    }
    lines
}

fn check(source: &str, expected: &Expect) {
    expected.assert_eq(&trace(source, roomy()).join("\n"));
}

#[test]
fn calls_return_values() {
    check(
        "const a = await tools.demo.echo({ x: 1 });\nconst b = await tools['my server']['echo']({ y: a.x + 1 });\nreturn { a, b, none: await tools.my_server.echo() };",
        &expect![[r#"
            call demo.echo {"x":1}
            call my server.echo {"y":2}
            call my server.echo {}
            returned {"a":{"x":1},"b":{"y":2},"none":{}}"#]],
    );
}

#[test]
fn digits_are_kept() {
    check(
        "const it = await tools.demo.get_big();\nconsole.log(it.id, typeof it.id, typeof it.n, it.f, Object.keys(it));\nawait tools.demo.echo({ id: it.id });\nreturn [it, 10n ** 30n];",
        &expect![[r#"
            call demo.get-big {}
            log 12345678901234567890123n bigint bigint 1.5 ["id", "__proto__", "n", "f"]
            call demo.echo {"id":12345678901234567890123}
            returned [{"id":12345678901234567890123,"__proto__":1,"n":-9007199254740993,"f":1.5},1000000000000000000000000000000]"#]],
    );
}

#[test]
fn parallel_calls_never_cross() {
    let source = "const all = await Promise.all([0, 1, 2, 3, 4].map((n) => tools.demo.echo({ n })));\nreturn all.map((it) => it.n);";
    let (sender, mut events) = mpsc::unbounded_channel();
    let run = ScriptRun::start(source.to_owned(), api(), roomy(), sender);
    let mut open = Vec::new();
    let mut end = None;
    while let Some(event) = events.blocking_recv() {
        match event {
            ScriptEvent::Call { id, arguments, .. } => open.push((id, arguments)),
            other => end = Some(other),
        }
        if open.len() == 5 {
            // The last call is answered first, an unknown one is ignored, and a second answer changes nothing.
            run.answer(999, Ok(json!({"n": "stray"}).into()));
            while let Some((id, arguments)) = open.pop() {
                run.answer(id, Ok(arguments));
                run.answer(id, Ok(json!({"n": "twice"}).into()));
            }
        }
    }
    assert_eq!(end, Some(ScriptEvent::Returned { json: json!([0, 1, 2, 3, 4]).into() }));
}

#[test]
fn errors_name_the_line_of_the_user() {
    check("const a = 1;\n\nnull.x;", &expect!["failed TypeError: cannot read property 'x' of null (line 3)"]);
    check(
        "const a = 1;\nconst b = = 2;",
        &expect!["failed SyntaxError: unexpected token in expression: '=' (line 2)"],
    );
    check(
        "\ntry { await tools.demo.fail({}); } catch (e) { console.log(e.name, e.message); }\n\nawait tools.demo.fail();",
        &expect![[r#"
            call demo.fail {}
            log ToolError demo.fail: no such city
            call demo.fail {}
            failed ToolError: demo.fail: no such city (line 4)"#]],
    );
    check("throw 'plain';", &expect!["failed plain"]);
    check(
        "await tools.demo.nothing();",
        &expect!["failed TypeError: demo has no nothing; it has: echo, get_big, fail, deep (line 1)"],
    );
    check(
        "tools.demo.echo([1]);",
        &expect!["failed TypeError: demo.echo takes one object with named arguments (line 1)"],
    );
    check("const a = {}; a.a = a; return a;", &expect!["failed TypeError: circular reference"]);
    check(
        "await new Promise(() => {});",
        &expect!["failed The script waits for something that never comes."],
    );
}

#[test]
fn a_script_without_return_gives_null_and_open_calls_are_awaited() {
    check(
        "tools.demo.echo({ a: 1 }).then((it) => console.info(it)); // the end",
        &expect![[r#"
            call demo.echo {"a":1}
            info { a: 1 }
            returned null"#]],
    );
}

#[test]
fn a_failure_that_nobody_awaits_is_told() {
    check(
        "tools.demo.fail();\nconst late = tools.demo.fail();\nawait sleep(1);\nawait late.catch(() => {});\nPromise.reject('plain');\nreturn 1;",
        &expect![[r#"
            call demo.fail {}
            call demo.fail {}
            warn A call or function failed and nothing awaited it: ToolError: demo.fail: no such city (line 1)
            warn A call or function failed and nothing awaited it: plain
            returned 1"#]],
    );
}

#[test]
fn the_console_formats() {
    check(
        "console.log('a', 1, 2n, null, undefined, -0, 'b');\nconsole.warn({ a: 'x', 'b c': [1, , 3] }, new Map([[1, { z: 1 }]]), new Set(['q']), () => 1);\nclass P { constructor() { this.self = this; } }\nconsole.error(new P(), '\\ud800', new Error('bad'));\nconsole.table([{ name: 'Ada', n: 1 }, { name: 'Bo', big: 12345678901234567890n }]);\nconsole.log(Array.from({ length: 40 }, (_, i) => 'item' + i).slice(0, 9));",
        &expect![[r#"
            log a 1 2n null undefined -0 b
            warn { a: "x", "b c": [1, empty, 3] } Map(1) { 1 => { z: 1 } } Set(1) { "q" } [function anonymous]
            error P { self: [circular] } � Error: bad
            log   | name  | n | big
            --|-------|---|----------------------
            0 | "Ada" | 1 |
            1 | "Bo"  |   | 12345678901234567890n
            log [
              "item0",
              "item1",
              "item2",
              "item3",
              "item4",
              "item5",
              "item6",
              "item7",
              "item8"
            ]
            returned null"#]],
    );
}

#[test]
fn the_world_is_small() {
    check(
        "return ['process', 'require', 'fetch', 'setTimeout', 'XMLHttpRequest', 'std', 'os', 'Deno', '__host', 'host', 'WebSocket', 'Worker'].filter((it) => it in globalThis);",
        &expect!["returned []"],
    );
    let lines = trace("await import('std');", roomy());
    assert!(lines.last().is_some_and(|it| it.starts_with("failed ")), "{lines:?}");
    check(
        "try { tools.demo = 1; } catch (e) { console.log(e.name); }\ntry { tools.demo.echo = 1; } catch (e) { console.log(e.name); }\ntry { tools = 1; } catch (e) { console.log(e.name); }",
        &expect![[r#"
            log TypeError
            log TypeError
            log TypeError
            returned null"#]],
    );
}

#[test]
fn sleep_waits_in_order() {
    check(
        "const seen = [];\nawait Promise.all([sleep(20).then(() => seen.push(2)), sleep(1).then(() => seen.push(1))]);\nreturn seen;",
        &expect!["returned [1,2]"],
    );
}

#[test]
fn time_ends_what_does_not_end() {
    let short = Limits { time: Duration::from_millis(50), ..Limits::default() };
    for source in [
        "while (true) {}",
        "for (;;) { try { while (true) {} } catch {} finally { continue; } }",
        "await null; while (true) {}",
        "for (;;) await null;",
        "await sleep(1e9);",
        "const a = () => Promise.resolve().then(a); a();",
        "/(a+)+$/.test('a'.repeat(64) + 'b');",
        "class Evil { toJSON() { for (;;) {} } } return new Evil();",
    ] {
        assert_eq!(trace(source, short).last().map(String::as_str), Some("stopped Time"), "{source}");
    }
}

#[test]
fn a_run_may_be_held_by_any_thread() {
    fn held<T: Send + Sync + 'static>() {}
    held::<ScriptRun>();
}

#[test]
fn stop_ends_an_infinite_loop() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let source = "console.log('in');\nwhile (true) { try { while (true) {} } catch {} }";
    let run = ScriptRun::start(source.to_owned(), api(), roomy(), sender);
    assert!(matches!(events.blocking_recv(), Some(ScriptEvent::Log { .. })));
    run.stop();
    assert_eq!(events.blocking_recv(), Some(ScriptEvent::Stopped { why: StopReason::Asked }));
    assert_eq!(events.blocking_recv(), None);
}

#[test]
fn dropping_the_run_ends_a_wait_for_an_answer() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let run = ScriptRun::start("await tools.demo.echo();".to_owned(), api(), roomy(), sender);
    assert!(matches!(events.blocking_recv(), Some(ScriptEvent::Call { .. })));
    drop(run);
    assert_eq!(events.blocking_recv(), Some(ScriptEvent::Stopped { why: StopReason::Asked }));
}

#[test]
fn memory_output_calls_and_depth_are_limited() {
    let small = Limits { memory: 4 << 20, output: 2_000, calls: 3, ..roomy() };
    for (source, end) in [
        ("const a = []; for (;;) a.push(new Array(10000).fill(1));", "stopped Memory"),
        ("return 'x'.repeat(1e9);", "stopped Memory"),
        ("const text = 'x'.repeat(1.5e6); for (;;) await tools.demo.echo({ text });", "stopped Memory"),
        ("for (;;) console.log('line');", "stopped Output"),
        ("for (;;) try { console.log(''); } catch {}", "stopped Output"),
        ("return 'x'.repeat(3000);", "stopped Output"),
        ("for (;;) await tools.demo.echo();", "stopped Calls"),
    ] {
        let lines = trace(source, small);
        assert_eq!(lines.last().map(String::as_str), Some(end), "{source}");
        assert!(lines.len() < 100, "{source}");
    }
    let deep = [
        "const f = () => f(); f();",
        "let a = []; for (let i = 0; i < 100000; i++) a = [a]; return a;",
        "let a = []; for (let i = 0; i < 100000; i++) a = [a]; console.log(JSON.stringify(a));",
        "await tools.demo.deep();",
        "JSON.parse('['.repeat(1e5));",
        "eval('('.repeat(1e5));",
        "new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('');",
    ];
    for source in deep {
        let lines = trace(source, roomy());
        assert!(lines.last().is_some_and(|it| it.starts_with("failed ")), "{source} {lines:?}");
    }
}

#[test]
fn a_hostile_script_only_harms_itself() {
    check(
        "JSON.stringify = () => '{}'; JSON.parse = () => 0; Map.prototype.get = () => undefined; Object.prototype.toJSON = undefined; Promise.prototype.then = 1;\nreturn 1;",
        &expect!["failed TypeError: not a function"],
    );
    check(
        "const e = new Error(); Object.defineProperty(e, 'message', { get() { throw e; } }); throw e;",
        &expect!["failed The script threw an error that cannot be read."],
    );
    check("throw null;", &expect!["failed null"]);
    check(
        "Promise.reject(new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } })); return 1;",
        &expect![[r#"
        warn A call or function failed and nothing awaited it: a value that is not an error was thrown
        returned 1"#]],
    );
    // Functions of the host that a stack may expose call nothing that was not handed in.
    let source = "if (globalThis.again) return; globalThis.again = true; const found = []; Error.prepareStackTrace = (e, sites) => { for (const it of sites) try { found.push(it.getFunction?.()); } catch {} return ''; };\ntry { tools.demo.echo({ get a() { new Error().stack; return 1; } }).catch(() => {}); } catch {}\nError.prepareStackTrace = undefined;\nfor (const f of found.slice(0, 9)) for (const args of ['{}', {}]) try { await f?.('other', 'secret', args); } catch {}\nreturn 1;";
    let lines = trace(source, roomy());
    assert!(lines.iter().all(|it| !it.contains("secret")), "{lines:?}");
    assert!(lines.contains(&"returned 1".to_owned()), "{lines:?}");
    // A source that closes the function around it is only a script of another shape.
    let lines = trace("}); console.log('out'); (async () => {", roomy());
    assert!(lines.last().is_some_and(|it| it.starts_with("returned ")), "{lines:?}");
}

#[test]
fn every_run_ends_once() {
    for source in [
        "",
        "return 1",
        "throw 1",
        "}",
        "for (;;) console.log(1)",
        "return undefined",
        "return () => 1",
        "\u{0}",
        "return Symbol()",
    ] {
        let lines = trace(source, Limits { output: 500, ..roomy() });
        let is_end =
            |it: &&String| ["returned ", "failed ", "stopped "].iter().any(|end| it.starts_with(end));
        assert_eq!(lines.iter().filter(is_end).count(), 1, "{source:?} {lines:?}");
        assert!(lines.last().as_ref().is_some_and(is_end), "{source:?} {lines:?}");
    }
}

#[test]
fn a_limit_that_was_reached_is_named() {
    let told: Vec<String> =
        [StopReason::Asked, StopReason::Time, StopReason::Memory, StopReason::Output, StopReason::Calls]
            .map(|it| it.told(&Limits::default()))
            .into();
    expect![[r#"
        The script was stopped.
        The script was stopped because it ran for more than 30 seconds (waiting for answers does not count).
        The script was stopped because it needed more than 64 MiB of memory.
        The script was stopped because it printed or returned more than 1 MiB.
        The script was stopped because it made more than 200 calls."#]]
    .assert_eq(&told.join("\n"));
}
