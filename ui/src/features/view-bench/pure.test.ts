import { describe, expect, it } from "vitest";
import type { BenchContext } from "../../bindings/BenchContext";
import type { BenchTool } from "../../bindings/BenchTool";
import { BridgeLog } from "../../components/view/bridge-log";
import { calledLast } from "./answers";
import { Bench, incomplete, judgeable } from "./bench.svelte";
import { filtered, lines, shownValue, timeOf } from "./log";
import { DEVICES, deviceOf, isLocale, isTimeZone, surrounded } from "./surround";

const NOTHING: BenchContext = { theme: null, locale: null, time_zone: null, display_mode: null, width: null, height: null, touch: false, safe_area: null };

describe("the surroundings", () => {
  const base = { theme: "light", locale: "en-US", timeZone: "UTC", deviceCapabilities: { touch: false, hover: true } } as const;

  it("are the window's until something else is chosen", () => {
    expect(surrounded(base, NOTHING, 580.4, 300)).toMatchObject({ ...base, displayMode: "inline", containerDimensions: { width: 580, maxHeight: 1200 } });
    const chosen = { ...NOTHING, theme: "dark", locale: "de-CH", time_zone: "Asia/Tokyo", display_mode: "pip", touch: true, safe_area: [1, 2, 3, 4] as [number, number, number, number] };
    expect(surrounded(base, chosen, 320, 240)).toMatchObject({
      theme: "dark",
      locale: "de-CH",
      timeZone: "Asia/Tokyo",
      displayMode: "pip",
      containerDimensions: { width: 320, height: 240 },
      deviceCapabilities: { touch: true, hover: false },
      safeAreaInsets: { top: 1, right: 2, bottom: 3, left: 4 },
    });
  });

  it("are never what a View cannot format with", () => {
    const wrong = surrounded(base, { ...NOTHING, locale: "not a locale", time_zone: "Mars/Olympus", theme: "blue", display_mode: "sideways" }, 1, 1);
    expect(wrong).toMatchObject({ theme: "light", locale: "en", timeZone: "UTC", displayMode: "inline" });
    expect([isLocale("de-CH"), isLocale("not a locale"), isTimeZone("Europe/Zurich"), isTimeZone("Mars/Olympus")]).toEqual([true, false, true, false]);
  });

  it("know the device that was chosen", () => {
    for (const { id, width, height, touch, safeArea } of DEVICES) expect(deviceOf({ ...NOTHING, width, height, touch, safe_area: safeArea })).toBe(id);
    expect(deviceOf({ ...NOTHING, width: 391 })).toBe("custom");
  });
});

describe("the log", () => {
  it("keeps values where an author looks, cut and bounded, and none elsewhere", () => {
    const kept = new BridgeLog(() => 0, () => undefined, true);
    const plain = new BridgeLog(() => 0, () => undefined);
    for (const log of [kept, plain]) log.add("in", "ui/message", 10, "", { text: "CANARY" });
    expect([kept.list()[0]!.value, plain.list()[0]!.value]).toEqual(['{"text":"CANARY"}', null]);
    for (let i = 0; i < 200; i += 1) kept.add("out", "ui/notifications/tool-result", 1, "", { text: "x".repeat(100_000) });
    const all = kept.list();
    expect(all).toHaveLength(201);
    expect(all.reduce((sum, it) => sum + (it.value?.length ?? 0), 0)).toBeLessThanOrEqual(4_194_304);
    expect([all[0]!.value, all.at(-1)!.value?.length]).toEqual([null, 65_536]);
  });

  it("is filtered by direction and text, and copied a message a line", () => {
    const log = new BridgeLog(() => 5, () => undefined, true);
    log.add("in", "ui/initialize", 10, "", { id: 1 });
    log.add("out", "answer 1", 20, "", { id: 1, result: { theme: "dark" } });
    log.add("stopped", "message", 3, "too large");
    const all = log.list();
    const methods = (direction: string, text: string): string[] => filtered(all, direction, text).map((it) => it.method);
    expect(methods("", "")).toEqual(["ui/initialize", "answer 1", "message"]);
    expect(methods("out", "")).toEqual(["answer 1"]);
    expect([methods("", "DARK"), methods("", "too large"), methods("in", "dark")]).toEqual([["answer 1"], ["message"], []]);
    expect(lines(all).split("\n").map((it) => JSON.parse(it) as unknown)[1]).toEqual({ atMs: 0, direction: "out", method: "answer 1", bytes: 20, message: { id: 1, result: { theme: "dark" } } });
    log.says({ kind: "error", text: '{"a": 1}', place: "" });
    const said = log.list().at(-1)!;
    expect(filtered(log.list(), "page", "")).toEqual([all[2], said]);
    // It looks like JSON, and is a text.
    expect([shownValue(said), JSON.parse(lines([said])) as unknown]).toEqual(['{"a": 1}', { atMs: 0, direction: "page", method: "console.error", bytes: 0, note: '{"a": 1}', message: '{"a": 1}' }]);
  });
});

describe("the answers of a fixture", () => {
  it("are written for the tool that the View called last", () => {
    const log = new BridgeLog(() => 0, () => undefined, true);
    const call = (name: unknown, text = ""): void => log.add("in", "tools/call", 1, "", { method: "tools/call", params: { name, arguments: { text } } });
    expect(calledLast(log.list())).toBeNull();
    call("first");
    call("second");
    log.add("out", "answer 2 to tools/call", 1, 'the fixture has no answer for "second"', { id: 2 });
    log.add("in", "ui/message", 1, "", { params: { name: "third" } });
    expect(calledLast(log.list())).toBe("second");
    call(7);
    expect(calledLast(log.list())).toBeNull();
    call("cut", "x".repeat(100_000));
    expect(calledLast(log.list())).toBeNull();
  });
});

describe("what went wrong in the log", () => {
  it("is an error that stands with those of the page: answers with an error and what was stopped, with what was sent", () => {
    const log = new BridgeLog(() => 0, () => undefined, true);
    log.add("in", "ui/initialize", 10, "", { id: 1 });
    log.add("out", "answer 1 to ui/initialize", 20, "", { id: 1, error: { code: -32602, message: "" } });
    // What the View refuses is the View's to say.
    log.add("in", "answer 2 to ui/resource-teardown", 20, "no such method", { id: 2, error: { code: -32601, message: "no such method" } });
    log.add("stopped", "message", 9, "not JSON", { held: new Map() });
    log.says({ kind: "log", text: "a line", place: "" });
    expect(log.list().map((it) => it.level)).toEqual(["quiet", "error", "quiet", "error", "quiet"]);
    expect(filtered(log.list(), "page", "").map((it) => it.direction)).toEqual(["out", "stopped", "page"]);
    expect(log.list()[3]!.value).toBe('{"held":"[object Map]"}');
    log.add("stopped", "message", 9, "not a JSON-RPC message", "x".repeat(100_000));
    expect(log.list().at(-1)!.value).toHaveLength(65_536);
  });

  it("has each kind that the policy blocked once, with what would allow it, and counts it there", () => {
    const log = new BridgeLog(() => 0, () => undefined, true);
    const remedy = '_meta.ui.csp.connectDomains: ["https://a.example"]';
    for (const path of ["x", "y", "z"]) {
      log.blocked("connect-src", "https://a.example", `https://a.example/${path}`, remedy);
      log.blocked("img-src", "data", "data", "No declaration allows it.");
    }
    expect(log.list()).toMatchObject([
      { direction: "page", method: "blocked by the policy", note: "connect-src https://a.example", value: `connect-src https://a.example/x\n${remedy}`, level: "warning", times: 3 },
      { note: "img-src data", times: 3 },
    ]);
    expect(log.list()).toHaveLength(2);
  });

  it("is told with times that keep to their column", () => {
    const times = [0, 9999, 10_000, 27_549, 59_999, 60_000, 447_580, 3_599_999, 4_047_580];
    expect(times.map(timeOf)).toEqual(["0 ms", "9999 ms", "10.0 s", "27.5 s", "59.9 s", "1 m 0.0 s", "7 m 27.5 s", "59 m 59.9 s", "1 h 7 m"]);
  });
});

describe("the bench", () => {
  it("gives back the form that it took", () => {
    const bench = new Bench();
    bench.take("s", {
      server: "Sample",
      tool: "show",
      input_json: '{"n":12345678901234567890}',
      outcome: { kind: "result", json: '{"a":1.10}' },
      from_fixture: true,
      answers: [{ tool: "r", json: "[]" }],
      faults: [{ method: "*", delay_ms: 5, fail: null }, { method: "ping", delay_ms: 0, fail: { code: -1, message: "no" } }],
      relaxed: true,
      context: { ...NOTHING, theme: "dark" },
    }, "");
    const form = bench.form("Sample");
    expect(form.input_json.replace(/\s/g, "")).toBe('{"n":12345678901234567890}');
    expect(form).toMatchObject({
      tool: "show",
      from_fixture: true,
      answers: [{ tool: "r", json: "[]" }],
      faults: [{ method: "*", delay_ms: 5, fail: null }, { method: "ping", delay_ms: 0, fail: { code: -1, message: "no" } }],
      relaxed: true,
      context: { theme: "dark" },
    });
  });

  it("keeps what is written for each tool of each server, with its place, and writes none of it over another one's", () => {
    const tool = (name: string): BenchTool => ({ name, title: null, resource_uri: "ui://x", input_schema_json: "{}", example_json: `{"of":"${name}"}`, variants: [] });
    const bench = new Bench();
    bench.choose("s", tool("a"));
    bench.ending = "error";
    Object.assign(bench, { input: "[1]", output: "[2]", fromFixture: true, place: "a.json", kept: "a.json" });
    bench.answers.push({ tool: "r", json: "{}" });
    bench.surround({ theme: "dark" });
    const written = bench.form("S");
    bench.choose("s", tool("b"));
    expect(bench.form("S")).toMatchObject({ tool: "b", outcome: { kind: "waiting" }, from_fixture: false, answers: [], context: { theme: "dark" } });
    expect([bench.input.replace(/\s/g, ""), bench.output, bench.place]).toEqual(['{"of":"b"}', "", ""]);
    bench.surround({ theme: "light" });
    bench.turnTo("t");
    bench.choose("t", tool("a"));
    expect([bench.input.replace(/\s/g, ""), bench.place]).toEqual(['{"of":"a"}', ""]);
    bench.choose("s", tool("a"));
    expect([bench.form("S"), bench.place]).toEqual([written, "a.json"]);
    // The place that was typed to open another tool's fixture is not this one's.
    bench.place = "b.json";
    bench.take("s", { ...written, tool: "b", outcome: { kind: "waiting" } }, "b.json");
    expect([bench.output, bench.place]).toEqual(["", "b.json"]);
    bench.choose("s", tool("a"));
    expect([bench.form("S"), bench.place]).toEqual([written, "a.json"]);
    bench.choose("s", tool("b"));
    expect([bench.input.replace(/\s/g, ""), bench.place]).toEqual(["[1]", "b.json"]);
  });

  it("says what of it cannot be sent yet, and judges the rest all the same", () => {
    const bench = new Bench();
    const judged = () => judgeable(bench, bench.form("s"));
    expect([incomplete(bench), judged()]).toEqual(["No tool is chosen.", null]);
    bench.tool = "show";
    expect(incomplete(bench)).toBeNull();
    bench.ending = "error";
    expect(incomplete(bench)).toBeNull();
    bench.output = "{";
    expect(incomplete(bench)).toBe("The output is no JSON.");
    expect(judged()?.outcome).toEqual({ kind: "waiting" });
    expect(judged()?.input_json).toBe(bench.input);
    bench.ending = "result";
    bench.output = " ";
    expect(incomplete(bench)).toBe("The output is empty.");
    bench.output = "[1]";
    expect(judged()?.outcome).toEqual({ kind: "result", json: "[1]" });
    bench.answers.push({ tool: "r", json: "" });
    expect(incomplete(bench)).toBe("The answer to r is empty.");
    expect(judged()?.answers).toEqual([]);
    bench.input = "";
    expect([incomplete(bench), judged()]).toEqual(["The input is empty.", null]);
  });
});
