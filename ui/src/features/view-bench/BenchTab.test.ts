import { configure, render, screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { BenchForm } from "../../bindings/BenchForm";
import type { BenchNews } from "../../bindings/BenchNews";
import type { BenchTool } from "../../bindings/BenchTool";
import type { ViewLaunch } from "../../bindings/ViewLaunch";
import { TELLS_CONSOLE } from "../../components/view/page-says";
import { fakePlatform } from "../../platform/fake";
import type { Platform } from "../../platform/types";
import { Store } from "../../state/store.svelte";
import { benchOf } from "./bench.svelte";
import { startBench } from "./start";
import Stage from "./BenchStageProbe.test.svelte";

// A busy machine may take seconds; the tests wait for it, and measure no time.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });

const ORIGIN = "mcpview://abc.localhost";
const LAUNCH: ViewLaunch = {
  view_id: "v",
  url: `${ORIGIN}/`,
  origin: ORIGIN,
  sandbox: "allow-scripts",
  allow: "",
  prefers_border: false,
  tool_json: '{"name":"t","inputSchema":{"type":"object"}}',
  input_json: '{"arguments":{}}',
  pieces_json: [],
  result_json: null,
  cancelled: null,
  sandbox_capabilities_json: "{}",
  wishes: [],
  rejected: [],
  server_name: "Sample",
  can_sample: false,
  takes_pictures: false,
};

function toolNamed(name: string): BenchTool {
  const variant = { title: "io.modelcontextprotocol/ui, structured", schema_json: "{}", why_not: null, whole: false };
  return { name, title: null, resource_uri: `ui://demo/${name}`, input_schema_json: "{}", example_json: "{}", variants: [variant] };
}

/** A bench whose Views open, and what was asked of the host. */
async function stage(change: Partial<Record<string, (payload: never) => unknown>> = {}, before: (store: Store) => unknown = () => undefined, shows = "bench-input") {
  const demo = fakePlatform();
  const asked: [string, unknown][] = [];
  let opened = 0;
  const platform = {
    subscribe: (since, onBatch) => demo.subscribe(since, onBatch),
    rpc: (cmd, payload) => {
      asked.push([cmd, structuredClone(payload)]);
      const other = change[cmd];
      if (other !== undefined) return Promise.resolve(other(payload as never));
      if (cmd === "open_bench") return Promise.resolve({ ...LAUNCH, view_id: `v${(opened += 1)}` });
      return demo.rpc(cmd, payload);
    },
  } as Platform;
  const store = new Store(platform);
  await store.start();
  await before(store);
  const { unmount } = render(Stage, { store });
  await screen.findByTestId(shows);
  const of = (cmd: string): unknown[] => asked.filter((it) => it[0] === cmd).map((it) => it[1]);
  return { store, bench: benchOf(store), of, unmount };
}

const output = (): HTMLTextAreaElement => screen.getByTestId("bench-output");

async function write(text: string): Promise<void> {
  await userEvent.clear(output());
  await userEvent.click(output());
  await userEvent.paste(text);
}

describe("the View tab", () => {
  it("offers the tools that have a View, with the input that their declaration offers and what a View receives", async () => {
    const { of } = await stage();
    expect(screen.getByTestId<HTMLTextAreaElement>("bench-input").value).toContain("Globex");
    expect(screen.getByTestId("bench-input-schema").textContent).toContain("type");
    const variants = [...screen.getByTestId<HTMLSelectElement>("bench-variant").options];
    expect(variants.map((it) => it.disabled)).toEqual([false, true]);
    expect(variants[1]!.textContent).toContain("made for others than Views");
    // Nothing runs before somebody asks.
    expect(of("open_bench")).toEqual([]);
  });

  it("says where an output does not fit, and starts the View with it all the same", async () => {
    const { of } = await stage();
    await userEvent.click(screen.getByTestId("bench-ending-result"));
    await write('{"rows": []}');
    const verdict = screen.getByTestId("bench-output-verdict");
    await waitFor(() => expect(verdict.dataset["verdict"]).toBe("violates"));
    expect(verdict.textContent).toContain("accounts");
    await userEvent.click(output());
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    await screen.findByTestId("view-frame");
    const [sent] = of("open_bench") as { form: BenchForm }[];
    expect(sent!.form.outcome).toEqual({ kind: "result", json: '{"rows": []}' });
    expect(of("open_bench")).toHaveLength(1);
    await write('{"accounts": []}');
    await waitFor(() => expect(verdict.dataset["verdict"]).toBe("fits"));
  });

  it("sends nothing that is no JSON", async () => {
    const { of } = await stage();
    await userEvent.click(screen.getByTestId("bench-ending-result"));
    await write('{\n  "rows": [1 2]}');
    expect(screen.getByText("Line 2, column 14: a comma or ] is expected.")).toBeTruthy();
    expect(screen.getByTestId<HTMLButtonElement>("bench-start").disabled).toBe(true);
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    expect(of("open_bench")).toEqual([]);
  });

  it("tells a View that runs how its call ended, and how the host answers from now on", async () => {
    const { of } = await stage();
    await userEvent.click(screen.getByTestId("bench-start"));
    await screen.findByTestId("view-frame");
    expect(screen.getByTestId<HTMLButtonElement>("bench-send").disabled).toBe(true);
    await userEvent.click(screen.getByTestId("bench-ending-cancelled"));
    await userEvent.click(screen.getByTestId("bench-send"));
    const [ended] = of("end_bench_call") as { view_id: string; form: BenchForm }[];
    expect([ended!.view_id, ended!.form.outcome.kind]).toEqual(["v1", "cancelled"]);
    await userEvent.click(screen.getByTestId("bench-part-host").querySelector("summary")!);
    await userEvent.click(screen.getByTestId("bench-add-fault"));
    await waitFor(() => expect((of("change_bench").at(-1) as { form: BenchForm }).form.faults).toEqual([{ method: "tools/call", delay_ms: 2000, fail: null }]));
    // It is the same View, not started again.
    expect(of("open_bench")).toHaveLength(1);
  });

  it("starts the View again when the server's document is another one", async () => {
    let news: BenchNews = { kind: "same" };
    const { of } = await stage({ bench_news: () => news });
    await userEvent.click(screen.getByTestId("bench-start"));
    const frame = await screen.findByTestId("view-frame");
    await waitFor(() => expect(of("bench_news").length).toBeGreaterThan(0));
    expect(screen.getByTestId("view-frame")).toBe(frame);
    const said = screen.getByTestId("bench-said");
    for (const [at, file, why] of [[2, null, "the server's HTML"], [3, "dist/index.html", "dist/index.html"]] as const) {
      news = { kind: "changed", file };
      await waitFor(() => expect(of("open_bench")).toHaveLength(at));
      news = { kind: "same" };
      await waitFor(() => expect(said.textContent).toBe(`Started again because ${why} changed.`));
    }
    expect(of("close_view")).toEqual([{ view_id: "v1" }, { view_id: "v2" }]);
  });

  it("says that the document cannot be looked at for as long as it cannot", async () => {
    let news: BenchNews = { kind: "unknown", why: "the server is not connected" };
    await stage({ bench_news: () => news });
    await userEvent.click(screen.getByTestId("bench-start"));
    await screen.findByTestId("view-frame");
    await waitFor(() => expect(screen.getByTestId("bench-unseen").textContent).toContain("not connected"), { timeout: 3000 });
    news = { kind: "same" };
    await waitFor(() => expect(screen.getByTestId("bench-unseen").textContent).toBe(""), { timeout: 3000 });
  });

  it("says why nothing was sent when the output is not whole", async () => {
    const { of } = await stage();
    await userEvent.click(screen.getByTestId("bench-start"));
    await screen.findByTestId("view-frame");
    await userEvent.click(screen.getByTestId("bench-ending-result"));
    const missing = screen.getByTestId("bench-missing");
    for (const [text, why] of [["", "the output is empty."], ["{", "the output is no JSON."]] as const) {
      if (text === "") await userEvent.clear(output());
      else await write(text);
      await waitFor(() => expect(missing.textContent).toBe(`It cannot be started so: ${why}`));
      await userEvent.click(screen.getByTestId("bench-send"));
      expect(of("end_bench_call")).toEqual([]);
      expect(screen.getByTestId("bench-said").textContent?.toLowerCase()).toBe(`nothing was sent. ${why.toLowerCase()}`);
    }
    // The input is judged all the same.
    await waitFor(() => expect(screen.getByTestId("bench-input-verdict").dataset["verdict"]).not.toBe("none"));
    await write("{}");
    await waitFor(() => expect(missing.textContent).toBe(""));
  });

  it("says that a call ends once", async () => {
    const { of } = await stage();
    await userEvent.click(screen.getByTestId("bench-ending-cancelled"));
    await userEvent.click(screen.getByTestId("bench-start"));
    await screen.findByTestId("view-frame");
    expect(screen.queryByTestId("bench-ended")).toBeNull();
    await userEvent.click(screen.getByTestId("bench-send"));
    await waitFor(() => expect(screen.getByTestId("bench-ended").textContent).toContain("a call ends once"));
    await userEvent.click(screen.getByTestId("bench-send"));
    expect(of("end_bench_call")).toHaveLength(1);
  });

  it("says why a server that failed shows nothing, with its last words, and starts it again", async () => {
    const { of } = await stage({ bench_tools: () => [], restart_server: () => null }, (store) => {
      const server = store.state?.servers[0];
      if (server === undefined) throw new Error("no server");
      server.state = { kind: "failed", what: "node ended with code 1.", todo: "Correct it and start it again." };
      server.stderr_tail = ["Error: Cannot find module nosuch.mjs"];
    }, "server-unready");
    const face = await screen.findByTestId("server-unready");
    expect(face.textContent).toContain("node ended with code 1.");
    expect(face.textContent).toContain("Cannot find module nosuch.mjs");
    await userEvent.click(screen.getByTestId("unready-restart"));
    expect(of("restart_server")).toHaveLength(1);
  });

  it("says so too where the tools of a server that failed are still listed", async () => {
    await stage({}, (store) => {
      const server = store.state?.servers[0];
      if (server === undefined) throw new Error("no server");
      server.state = { kind: "failed", what: "node ended with code 1.", todo: "Correct it and start it again." };
    });
    expect(screen.getByTestId("server-unready").textContent).toContain("node ended with code 1.");
    expect(screen.getByTestId("bench-start")).toBeTruthy();
  });

  it("saves a fixture and opens it again", async () => {
    const { bench } = await stage();
    await userEvent.click(screen.getByTestId("bench-ending-result"));
    await write('{"accounts": [1.10]}');
    await userEvent.selectOptions(screen.getByTestId("bench-theme"), "dark");
    await userEvent.type(screen.getByTestId("bench-place"), "dark one");
    await userEvent.click(screen.getByTestId("bench-save"));
    await waitFor(() => expect(screen.getByTestId("bench-fixture-said").textContent).toContain("dark one.json"));
    expect(screen.getByTestId("bench-save").parentElement?.nextElementSibling).toBe(screen.getByTestId("bench-fixture-said"));
    await write("{}");
    await userEvent.selectOptions(screen.getByTestId("bench-theme"), "");
    await userEvent.click(screen.getByTestId("bench-open"));
    await waitFor(() => expect(output().value.replace(/\s/g, "")).toBe('{"accounts":[1.10]}'));
    expect(bench.context.theme).toBe("dark");
    await userEvent.clear(screen.getByTestId("bench-place"));
    await userEvent.type(screen.getByTestId("bench-place"), "nowhere");
    await userEvent.click(screen.getByTestId("bench-open"));
    await waitFor(() => expect(screen.getByTestId("bench-fixture-said").textContent).toContain("nowhere cannot be read"));
  });

  it("keeps what was written when another tool is chosen, and shows nothing that was heard of the old one", async () => {
    const source = { postMessage: () => undefined } as unknown as Window;
    const same = vi.spyOn(HTMLIFrameElement.prototype, "contentWindow", "get").mockReturnValue(source);
    const { of } = await stage({ bench_tools: () => [toolNamed("first"), toolNamed("second")] });
    const place = (): HTMLInputElement => screen.getByTestId("bench-place");
    const choice = screen.getByTestId<HTMLSelectElement>("bench-tool");
    await userEvent.click(screen.getByTestId("bench-ending-result"));
    await write('{"accounts": [1.10]}');
    await userEvent.type(place(), "first");
    await userEvent.click(screen.getByTestId("bench-save"));
    await waitFor(() => expect(screen.getByTestId("bench-fixture-said").textContent).toContain("first.json"));
    await userEvent.click(screen.getByTestId("bench-start"));
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    await waitFor(() => expect(frame.getAttribute("src")).toBe(`${ORIGIN}/`));
    for (const data of [{ usher: "blocked", directive: "connect-src", uri: "https://api.example/x" }, { usher: "says", kind: "error", text: "old", file: "", line: 0, column: 0 }]) {
      window.dispatchEvent(Object.assign(new Event("message"), { data, origin: ORIGIN, source }));
    }
    await screen.findByTestId("bench-blocked");
    await screen.findByTestId("bench-errors");
    await userEvent.selectOptions(choice, "second");
    await waitFor(() => expect(screen.getByTestId("bench-stage").textContent).toContain("Start shows the View of second."));
    expect([screen.queryByTestId("bench-blocked"), screen.queryByTestId("bench-errors"), screen.getByTestId("bench-log").textContent?.trim()]).toEqual([null, null, "No message yet."]);
    expect([of("close_view"), screen.queryByTestId("bench-output"), place().value, screen.getByTestId("bench-fixture-said").textContent]).toEqual([[{ view_id: "v1" }], null, "", ""]);
    await userEvent.selectOptions(choice, "first");
    expect([output().value, place().value]).toEqual(['{"accounts": [1.10]}', "first"]);
    // What had stopped by itself says so no longer either.
    await userEvent.click(screen.getByTestId("bench-start"));
    await screen.findByTestId("view-frame");
    await userEvent.click(screen.getByTestId("bench-stop"));
    await waitFor(() => expect(screen.getByTestId("bench-stage").textContent).toContain("The View was stopped."));
    await userEvent.selectOptions(choice, "second");
    await waitFor(() => expect(screen.getByTestId("bench-stage").textContent).toContain("Start shows the View of second."));
    same.mockRestore();
  });

  it("answers any tool that a View may call from the fixture, each once", async () => {
    const { store, bench } = await stage();
    const may = store.state!.servers.find((it) => it.id === bench.serverId)!.tools.filter((it) => it.visible_to_view).map((it) => it.name);
    await userEvent.click(screen.getByTestId("bench-part-host").querySelector("summary")!);
    await userEvent.click(screen.getByTestId("bench-from-fixture"));
    const choice = (): HTMLSelectElement => screen.getByTestId("bench-answer-tool");
    expect([[...choice().options].map((it) => it.value), choice().value]).toEqual([may, may[0]]);
    await userEvent.selectOptions(choice(), may[2]!);
    await userEvent.click(screen.getByTestId("bench-answer-more"));
    expect(bench.answers).toEqual([{ tool: may[2], json: "{}" }]);
    expect([choice().value, [...choice().options].map((it) => it.value)]).toEqual([may[0], may.filter((it) => it !== may[2])]);
    for (let left = may.length - 1; left > 0; left -= 1) await userEvent.click(screen.getByTestId("bench-answer-more"));
    expect(screen.getByText("Every tool has an answer.")).toBeTruthy();
    expect(new Set(bench.answers.map((it) => it.tool))).toEqual(new Set(may));
  });

  it("judges no output where none is written", async () => {
    const { of } = await stage();
    await userEvent.click(screen.getByTestId("bench-ending-result"));
    const verdict = screen.getByTestId("bench-output-verdict");
    await write('{"rows": []}');
    await waitFor(() => expect(verdict.dataset["verdict"]).toBe("violates"));
    const times = of("judge_bench").length;
    for (const [at, key] of [[1, ""], [2, "{{"]] as const) {
      if (key === "") await userEvent.clear(output());
      else await userEvent.type(output(), key);
      await waitFor(() => expect(of("judge_bench")).toHaveLength(times + at));
      await waitFor(() => expect([verdict.dataset["verdict"], verdict.textContent?.trim()]).toEqual(["none", ""]));
    }
    await write('{"accounts": []}');
    await waitFor(() => expect(verdict.dataset["verdict"]).toBe("fits"));
  });

  it("says why a tool of a fixture cannot be shown, and keeps the field that leads back", async () => {
    let name = "nowhere";
    const { bench, of } = await stage({ open_bench_fixture: () => ({ ...bench.form(""), tool: name }), bench_tools: () => [toolNamed("first"), toolNamed("second")] });
    await userEvent.click(screen.getByTestId("bench-start"));
    await screen.findByTestId("view-frame");
    await userEvent.type(screen.getByTestId("bench-place"), "one");
    await userEvent.click(screen.getByTestId("bench-open"));
    const tab = screen.getByTestId("bench-tab");
    await waitFor(() => expect(tab.textContent).toContain("lists no tool nowhere now"));
    expect(tab.textContent).toContain("It has Views for: first, second.");
    // What runs unseen is nobody's.
    await waitFor(() => expect(of("close_view")).toEqual([{ view_id: "v1" }]));
    expect([screen.queryByTestId("bench-stage"), screen.getByTestId("bench-fixture-said").textContent]).toEqual([null, "Opened."]);
    name = "delete_account";
    await userEvent.click(screen.getByTestId("bench-open"));
    await waitFor(() => expect(tab.textContent).toContain("delete_account of Sample has no View"));
    name = "second";
    await userEvent.click(screen.getByTestId("bench-open"));
    await screen.findByTestId("view-frame");
    expect(screen.getByTestId<HTMLSelectElement>("bench-tool").value).toBe("second");
  });

  it("starts the server again for the files that are chosen for it, by keyboard, and says what is wrong with one", async () => {
    const wrong = { code: "internal", what: "/home/ada/dist is no file and no folder.", safe: "", todo: "Correct it." };
    const watch = ({ paths }: { paths: string[] }): unknown => (paths.some((it) => !it.startsWith("/")) ? Promise.reject(wrong) : null);
    const { of, bench } = await stage({ watch_for_bench: watch as never });
    const said = (): string | null => screen.getByTestId("bench-watch-said").textContent;
    const field = screen.getByTestId<HTMLInputElement>("bench-watch");
    await userEvent.type(field, "dist{Enter}");
    await waitFor(() => expect(said()).toContain("/home/ada/dist is no file"));
    // It stands at the field that it is about.
    expect(field.closest("form")?.nextElementSibling).toBe(screen.getByTestId("bench-watch-said"));
    expect([field.value, screen.queryAllByTestId("bench-watched")]).toEqual(["dist", []]);
    await userEvent.clear(field);
    await userEvent.type(field, "/home/you/dist{Enter}");
    await waitFor(() => expect(screen.getAllByTestId("bench-watched")).toHaveLength(1));
    // The same again is nothing new.
    await userEvent.type(field, "/home/you/dist{Enter}");
    await userEvent.clear(field);
    await userEvent.type(field, "/home/you/server.js{Enter}");
    await waitFor(() => expect(screen.getAllByTestId("bench-watched")).toHaveLength(2));
    screen.getByRole("button", { name: "Watch /home/you/dist no more" }).focus();
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(screen.getAllByTestId("bench-watched").map((it) => it.textContent)).toEqual(["/home/you/server.jsWatch no more"]));
    const server = (of("watch_for_bench")[0] as { server_id: string }).server_id;
    expect(of("watch_for_bench").map((it) => (it as { paths: string[] }).paths)).toEqual([
      ["dist"], ["/home/you/dist"], ["/home/you/dist", "/home/you/server.js"], ["/home/you/server.js"],
    ]);
    // They are that server's.
    expect(Object.keys(bench.watched)).toEqual([server]);
  });

  it("begins with what usher view asked for, and ends its View when another tab is shown", async () => {
    const demo = fakePlatform();
    const tool = (await demo.subscribe(null, () => undefined)).servers.flatMap((it) => it.tools.map((one) => ({ server: it.id, ...one }))).find((it) => it.has_view)!;
    const form = { server: "", tool: tool.name, input_json: "", outcome: { kind: "waiting" }, from_fixture: false, answers: [], faults: [], relaxed: false } as const;
    const context = { theme: null, locale: null, time_zone: null, display_mode: null, width: 390, height: null, touch: false, safe_area: null };
    const start = { server_id: tool.server, form: { ...form, context }, place: "/home/you/one.json", watched: ["/home/you/view"] };
    const { of, unmount } = await stage({ bench_start: () => start }, startBench);
    await screen.findByTestId("view-frame");
    const [sent] = of("open_bench") as { form: BenchForm }[];
    expect([sent!.form.input_json.replace(/\s/g, ""), sent!.form.context.width]).toEqual(['{"query":"Globex"}', 390]);
    expect(screen.getByTestId<HTMLInputElement>("bench-place").value).toBe("/home/you/one.json");
    expect(screen.getByText("/home/you/view")).toBeDefined();
    unmount();
    await waitFor(() => expect(of("close_view")).toEqual([{ view_id: "v1" }]));
  });

  it("shows what the policy blocked with the declaration that would allow it, and starts again with another policy", async () => {
    // jsdom gives a frame another window when its address is set, as no browser does.
    const source = { postMessage: () => undefined } as unknown as Window;
    const same = vi.spyOn(HTMLIFrameElement.prototype, "contentWindow", "get").mockReturnValue(source);
    const { of } = await stage();
    await userEvent.click(screen.getByTestId("bench-start"));
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    await waitFor(() => expect(frame.getAttribute("src")).toBe(`${ORIGIN}/`));
    const data = { usher: "blocked", directive: "connect-src", uri: "https://api.example/x" };
    window.dispatchEvent(Object.assign(new Event("message"), { data, origin: ORIGIN, source }));
    await waitFor(() => expect(screen.getByTestId("bench-blocked").textContent).toContain('_meta.ui.csp.connectDomains: ["https://api.example"]'));
    await userEvent.click(screen.getByTestId("bench-relaxed"));
    await waitFor(() => expect(of("open_bench")).toHaveLength(2));
    expect((of("open_bench").at(-1) as { form: BenchForm }).form.relaxed).toBe(true);
    same.mockRestore();
  });

  it("shows errors and the console of the View's page among its messages, counts the errors, and names the first where the View did not start", async () => {
    const source = { postMessage: () => undefined } as unknown as Window;
    const same = vi.spyOn(HTMLIFrameElement.prototype, "contentWindow", "get").mockReturnValue(source);
    vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 20 });
    await stage();
    await userEvent.click(screen.getByTestId("bench-start"));
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    expect(frame.name).toBe(TELLS_CONSOLE);
    await waitFor(() => expect(frame.getAttribute("src")).toBe(`${ORIGIN}/`));
    const say = (kind: string, text: string, line = 0): boolean =>
      window.dispatchEvent(Object.assign(new Event("message"), { data: { usher: "says", kind, text, file: "", line, column: 1 }, origin: ORIGIN, source }));
    // What one opened stays open when messages come.
    const host = screen.getByTestId<HTMLDetailsElement>("bench-part-host");
    host.open = true;
    say("warn", "careful");
    say("uncaught", "Error: no rows\u202e", 12);
    say("uncaught", "Error: and more");
    const log = screen.getByTestId("bench-log");
    await waitFor(() => expect([...log.querySelectorAll<HTMLElement>("[data-direction=page]")].map((it) => it.dataset["level"])).toEqual(["warning", "error", "error"]));
    expect(screen.getByTestId("bench-errors").textContent).toBe("2 errors");
    expect(host.open).toBe(true);
    await userEvent.selectOptions(screen.getByTestId("bench-log-direction"), "page");
    await userEvent.click(log.querySelector("[data-level=error] button")!);
    expect(screen.getByTestId("bench-log-value").textContent).toBe("Error: no rowsU+202E\nin the document, line 12, column 1");
    await vi.advanceTimersByTimeAsync(8000);
    await waitFor(() => expect(screen.getByTestId("bench-late-error").textContent).toContain("Error: no rows"));
    expect(screen.getByTestId("bench-late-error").textContent).not.toContain("and more");
    vi.useRealTimers();
    same.mockRestore();
  });

  it("says how far the messages of a View came that did not start, and forgets what was copied with them", async () => {
    const source = { postMessage: () => undefined } as unknown as Window;
    const same = vi.spyOn(HTMLIFrameElement.prototype, "contentWindow", "get").mockReturnValue(source);
    vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 20 });
    await stage();
    await userEvent.click(screen.getByTestId("bench-start"));
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    await waitFor(() => expect(frame.getAttribute("src")).toBe(`${ORIGIN}/`));
    const send = (data: object): boolean => window.dispatchEvent(Object.assign(new Event("message"), { data, origin: ORIGIN, source }));
    const init = (id: number, params: object): boolean => send({ jsonrpc: "2.0", id, method: "ui/initialize", params });
    init(1, { protocolVersion: "2026-01-26", appInfo: 7, appCapabilities: {} });
    init(2, { protocolVersion: "2026-01-26", appInfo: { name: "a", version: "1" }, appCapabilities: {} });
    const log = screen.getByTestId("bench-log");
    await waitFor(() => expect(log.querySelectorAll('[data-method="answer 2 to ui/initialize"]')).toHaveLength(1));
    send({ usher: "blocked", directive: "connect-src", uri: "https://api.example/x" });
    await waitFor(() => expect(log.querySelectorAll('[data-method="blocked by the policy"]')).toHaveLength(1));
    await userEvent.selectOptions(screen.getByTestId("bench-log-direction"), "page");
    const rows = [...log.querySelectorAll<HTMLElement>("li")];
    expect(rows.map((it) => [it.dataset["method"], it.dataset["level"]])).toEqual([["answer 1 to ui/initialize", "error"], ["blocked by the policy", "warning"]]);
    await userEvent.click(rows[1]!.querySelector("button")!);
    expect(screen.getByTestId("bench-log-value").textContent).toBe('connect-src https://api.example/x\n_meta.ui.csp.connectDomains: ["https://api.example"]');
    // jsdom has no clipboard of a document.
    Object.assign(document, { execCommand: () => true });
    await userEvent.click(within(log.closest("details")!).getByRole("button", { name: "Copy" }));
    await waitFor(() => expect(screen.getByText("2 messages are on the clipboard.")).toBeTruthy());
    await vi.advanceTimersByTimeAsync(8000);
    await waitFor(() => expect(screen.getByTestId("bench-late-protocol").textContent).toContain("answer 1 to ui/initialize: "));
    expect(screen.getByTestId("bench-late-owes").textContent).toBe("It was answered ui/initialize; ui/notifications/initialized is missing.");
    vi.useRealTimers();
    await userEvent.click(screen.getByTestId("bench-start"));
    await waitFor(() => expect(screen.queryByText(/clipboard/)).toBeNull());
    same.mockRestore();
  });

  it("gets the whole window and gives it back", async () => {
    await stage();
    await userEvent.click(screen.getByTestId("bench-wide"));
    expect(screen.getByTestId("is-wide").textContent).toBe("true");
    expect(screen.getByTestId("bench-wide").getAttribute("aria-pressed")).toBe("true");
  });
});
