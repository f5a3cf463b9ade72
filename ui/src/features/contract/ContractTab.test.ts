import { configure, render, screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { CheckTool } from "../../bindings/CheckTool";
import { fakePlatform } from "../../platform/fake";
import type { Platform } from "../../platform/types";
import { Store } from "../../state/store.svelte";
import Stage from "./ContractStage.test.svelte";

// A busy machine may take seconds; the tests wait for it, and measure no time.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });
// jsdom lays nothing out.
Element.prototype.scrollIntoView = () => undefined;

async function stage(before: (store: Store) => void = () => undefined, change: Record<string, () => unknown> = {}) {
  const demo = fakePlatform();
  const started: CheckTool[][] = [];
  const judged: { result: string; schema: string; revision: string | null }[] = [];
  const platform: Platform = {
    subscribe: (since, onBatch) => demo.subscribe(since, onBatch),
    rpc: (cmd, payload) => {
      if (cmd === "start_check") started.push((payload as { tools: CheckTool[] }).tools);
      if (cmd === "judge_pasted") judged.push(payload as (typeof judged)[number]);
      const other = change[cmd];
      return other === undefined ? demo.rpc(cmd, payload) : (Promise.resolve(other()) as never);
    },
  };
  const store = new Store(platform);
  await store.start();
  before(store);
  render(Stage, { store });
  return { store, started, judged, world: demo.world };
}

const row = (tool: string) => screen.getAllByTestId("contract-tool").find((it) => it.dataset["tool"] === tool)!;

describe("the Contract tab", () => {
  it("shows what is called and what is not, and why", async () => {
    await stage();
    await screen.findAllByTestId("contract-tool");
    expect(row("search_customers").dataset["fate"]).toBe("called");
    const warns = screen.getAllByTestId("contract-tool").find((it) => it.dataset["fate"] === "warns")!;
    expect(warns.textContent).toContain("readOnlyHint");
  });

  it("says why a server that failed has no tools to call, and starts it again", async () => {
    const { store } = await stage((store) => {
      const server = store.state?.servers[0];
      if (server === undefined) throw new Error("no server");
      Object.assign(server, { tools: [], state: { kind: "failed", what: "node ended with code 1.", todo: "Correct it." }, stderr_tail: ["Error: nosuch.mjs"] });
    }, { plan_check: () => ({ revisions: [], tools: [] }) });
    const asked = vi.spyOn(store, "ask");
    const face = await screen.findByTestId("server-unready");
    expect(face.textContent).toContain("node ended with code 1.");
    expect(face.textContent).toContain("nosuch.mjs");
    await userEvent.click(screen.getByTestId("unready-restart"));
    expect(asked).toHaveBeenCalledWith("restart_server", expect.anything());
  });

  it("calls a tool that warns only after it was asked, and with what was written", async () => {
    const { started } = await stage();
    await screen.findAllByTestId("contract-tool");
    const warns = screen.getAllByTestId("contract-tool").find((it) => it.dataset["fate"] === "warns")!;
    const name = warns.dataset["tool"]!;
    await userEvent.click(within(warns).getByTestId("contract-allow"));
    const ask = await screen.findByTestId("contract-ask");
    expect(ask.textContent).toContain("readOnlyHint");
    await userEvent.click(within(ask).getByText("Do not call it"));
    expect(row(name).dataset["fate"]).toBe("warns");
    // The page takes clicks again a moment after the dialog is gone.
    await waitFor(() => expect(document.body.style.pointerEvents).not.toBe("none"));

    await userEvent.click(within(row(name)).getByTestId("contract-allow"));
    const again = await screen.findByTestId("contract-ask");
    const field = within(again).getByRole("textbox");
    await userEvent.clear(field);
    await userEvent.click(field);
    await userEvent.paste('{"title": 12345678901234567890}');
    await userEvent.click(within(again).getByTestId("contract-ask-yes"));
    expect(row(name).dataset["fate"]).toBe("called");
    await waitFor(() => expect(document.body.style.pointerEvents).not.toBe("none"));
    await userEvent.click(screen.getByTestId("contract-run"));
    const order = started[0]!.find((it) => it.name === name)!;
    expect(order).toMatchObject({ allowed: true, normal_json: '{"title": 12345678901234567890}' });
    expect(started[0]!.filter((it) => it.allowed)).toHaveLength(1);
  });

  it("runs, shows how far it is, lists what was found, and opens the place in the bytes", async () => {
    await stage();
    await screen.findAllByTestId("contract-tool");
    await userEvent.click(screen.getByTestId("contract-run"));
    await screen.findByRole("progressbar");
    expect((await screen.findByTestId("contract-summary")).textContent).toContain("1 broken, 1 recommended");
    const [first, second] = screen.getAllByTestId("contract-finding");
    // The weight is a word, and not a colour alone.
    expect(first!.textContent).toContain("broken");
    expect(second!.textContent).toContain("advice");
    expect(first!.textContent).toContain("Validate each structured output");
    await userEvent.click(within(first!).getByText("/outputs/0/structuredContent/accounts"));
    const bytes = await screen.findByTestId("contract-bytes");
    expect(bytes.querySelector("mark")?.textContent).toBe("12345678901234567890");
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("contract-evidence")).toBeNull());

    await userEvent.click(screen.getByLabelText("Keep the report"));
    await userEvent.click(await screen.findByText("Save as JUnit"));
    await waitFor(() => expect(screen.getByTestId("contract-said").textContent).toContain("contract-usher-sample.xml"));
  });

  it("can be stopped", async () => {
    await stage();
    await screen.findAllByTestId("contract-tool");
    await userEvent.click(screen.getByTestId("contract-run"));
    await userEvent.click(await screen.findByTestId("contract-stop"));
    await screen.findByText("You stopped it; tools that are not here were not checked.");
  });

  it("turns to the tool that was asked for elsewhere, and to it alone", async () => {
    const { store, started } = await stage((store) => (store.contractFor = { serverId: "sample", tool: "search_customers" }));
    await screen.findByTestId("contract-normal");
    expect(store.contractFor).toBeNull();
    await userEvent.click(screen.getByTestId("contract-run"));
    expect(started[0]!.map((it) => it.name)).toEqual(["search_customers"]);
  });

  it("turns to a server that was asked for elsewhere, also when a result was validated last, and to each of its tools", async () => {
    const { store } = await stage((store) => (store.contractFor = { serverId: "sample", tool: "search_customers" }));
    await screen.findByTestId("contract-normal");
    const name = screen.getByTestId("contract-run").textContent;
    expect(name).toContain("Check 1 tool");
    await userEvent.click(screen.getByTestId("contract-page-pasted"));
    store.contractFor = { serverId: "sample", tool: null };
    await screen.findAllByTestId("contract-tool");
    await waitFor(() => expect(store.contractFor).toBeNull());
    const all = screen.getAllByTestId("contract-tool").length;
    await waitFor(() => expect(screen.getByTestId("contract-run").textContent).toContain(`Check ${all} tools`));
  });

  it("starts no check with the keyboard that its button would not start", async () => {
    const { started } = await stage((store) => (store.contractFor = { serverId: "sample", tool: "search_customers" }));
    const field = await screen.findByTestId("contract-normal");
    await userEvent.click(screen.getByLabelText("Check search_customers"));
    field.focus();
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    expect(started).toEqual([]);
    await userEvent.click(screen.getByLabelText("Check search_customers"));
    field.focus();
    await userEvent.keyboard("{Control>}{Enter}{Enter}{/Control}");
    await screen.findByTestId("contract-stop");
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    expect(started).toHaveLength(1);
  });

  it("says what providers make of an input schema", async () => {
    await stage((store) => (store.contractFor = { serverId: "sample", tool: "search_customers" }));
    const table = await screen.findByTestId("contract-portability");
    expect(table.textContent).toMatch(/OpenAI strict\s*refuses\s*properties that are not required/);
    expect(table.textContent).toMatch(/Gemini\s*drops\s*pattern/);
  });

  it("says what to do where there is no server", async () => {
    await stage((store) => (store.state = { ...store.state!, servers: [] }));
    expect(screen.getByText("There is no server to check")).toBeDefined();
  });
});

describe("a pasted result", () => {
  it("goes to the host as text, with every digit, and its places are selected", async () => {
    const { judged } = await stage();
    await userEvent.click(screen.getByTestId("contract-page-pasted"));
    expect(screen.getByTestId("pasted-validate")).toHaveProperty("disabled", true);
    const result = screen.getByTestId<HTMLTextAreaElement>("pasted-result");
    const text = '{"content": [], "structuredContent": {"temperature": "22", "n": 12345678901234567890.10}}';
    await userEvent.click(result);
    await userEvent.paste(text);
    await userEvent.click(screen.getByTestId("pasted-schema"));
    await userEvent.paste('{"type": "object"}');
    await userEvent.selectOptions(screen.getByLabelText("Read as"), "2025-06-18");
    await userEvent.click(screen.getByTestId("pasted-validate"));
    const verdict = await screen.findByTestId("pasted-verdict");
    expect(verdict.textContent).toContain("1 broken");
    expect(verdict.textContent).toContain("2025-06-18");
    expect(verdict.textContent).toContain("2020-12");
    expect(judged).toEqual([{ result: text, schema: '{"type": "object"}', revision: "2025-06-18" }]);
    await userEvent.click(screen.getByTestId("contract-place"));
    await waitFor(() => expect(document.activeElement).toBe(result));
    expect(text.slice(result.selectionStart, result.selectionEnd)).toBe('"22"');
  });

  it("says at once that a text is no JSON", async () => {
    await stage();
    await userEvent.click(screen.getByTestId("contract-page-pasted"));
    const result = screen.getByTestId("pasted-result");
    await userEvent.click(result);
    await userEvent.paste("{nonsense");
    expect(result.getAttribute("aria-invalid")).toBe("true");
  });
});
