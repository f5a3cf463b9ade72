import { render, screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import App from "./App.svelte";
import type { ViewLaunch } from "./bindings/ViewLaunch";
import { displays } from "./components/view/display.svelte";
import { scriptMemory } from "./features/scripting/memory.svelte";
import { demoCall } from "./platform/demo/conversation";
import { fakePlatform, type FakeOptions } from "./platform/fake";
import { Store } from "./state/store.svelte";

const LAUNCH: ViewLaunch = {
  view_id: "v",
  url: "mcpview://abc.localhost/",
  origin: "mcpview://abc.localhost",
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

function open(options: FakeOptions = {}) {
  return openWith(fakePlatform({ stepMs: 1, ...options }));
}

/** A quiet conversation with the caret in its composer, and what lets a call in it wait for the user. */
async function questioned(origin: "model" | "script" = "model") {
  const { platform, store } = await open();
  await store.openConversation("c2");
  await waitFor(() => expect(store.conversation?.summary.id).toBe("c2"));
  screen.getByTestId("composer-input").focus();
  const call = demoCall(1, "search_customers", { call_id: "asked-1", origin, state: { kind: "awaiting_approval", why: "New." } });
  const turns = platform.world;
  const ask = () =>
    turns.emit({ type: "item_changed", conversation_id: "c2", item: { id: "asked", seq: 900, at_ms: 0, kind: { kind: "tool_call", call } } });
  platform.rpc = ((rpc) => (cmd, payload) => {
    if (cmd !== "answer_approval") return rpc(cmd, payload);
    const refused = { ...call, state: { kind: "refused" } } as const;
    turns.emit({ type: "item_changed", conversation_id: "c2", item: { id: "asked", seq: 900, at_ms: 0, kind: { kind: "tool_call", call: refused } } });
    return Promise.resolve(null as never);
  })(platform.rpc);
  return { platform, store, ask };
}

async function openWith(platform: ReturnType<typeof fakePlatform>) {
  const store = new Store(platform);
  await store.start();
  window.innerWidth = 1280;
  render(App, { store });
  return { platform, store };
}

const rows = () => screen.getAllByTestId("conversation-row").map((row) => row.textContent?.trim());

describe("the window", () => {
  beforeEach(() => localStorage.clear());

  it("draws conversations, servers, the transcript and the inspector", async () => {
    await open();
    expect(rows()).toHaveLength(5);
    expect(screen.getAllByTestId("server-row").map((r) => r.dataset.state)).toEqual(["ready", "ready", "ready", "failed", "off"]);
    expect(screen.getAllByTestId("tool-card").map((c) => c.dataset.tool)).toEqual(["search_customers", "refresh_dashboard"]);
    expect(screen.getByTestId("inspector-tab-routing").dataset.state).toBe("active");
  });

  it("starts a conversation with Ctrl+N and puts the caret into the composer", async () => {
    await open();
    await userEvent.keyboard("{Control>}n{/Control}");
    await waitFor(() => expect(rows()[0]).toBe("New conversation"));
    expect(document.activeElement).toBe(screen.getByTestId("composer-input"));
  });

  it("turns the inspector with Ctrl+1 to 4 and goes round the panes with F6", async () => {
    await open();
    await userEvent.keyboard("{Control>}2{/Control}");
    expect(screen.getByTestId("inspector-tab-context").dataset.state).toBe("active");
    screen.getByTestId("composer-input").focus();
    await userEvent.keyboard("{F6}");
    expect(document.activeElement).toBe(screen.getByTestId("inspector-tab-context"));
    await userEvent.keyboard("{F6}");
    expect(screen.getByLabelText("Conversations and servers").contains(document.activeElement)).toBe(true);
    await userEvent.keyboard("{F6}");
    expect(document.activeElement).toBe(screen.getByTestId("composer-input"));
  });

  /** A window whose bench shows a View, and what was asked about that View. */
  async function openBench() {
    const platform = fakePlatform({ stepMs: 1 });
    const asked: string[] = [];
    platform.rpc = ((rpc) => (cmd, payload) => {
      asked.push(cmd);
      return cmd === "open_bench" ? Promise.resolve(LAUNCH as never) : rpc(cmd, payload);
    })(platform.rpc);
    const opened = await openWith(platform);
    await userEvent.keyboard("{Control>}6{/Control}");
    await screen.findByTestId("bench-input");
    await userEvent.click(screen.getByTestId("bench-start"));
    const frame = await screen.findByTestId("view-frame");
    return { ...opened, frame, of: (cmd: string) => asked.filter((it) => it === cmd).length };
  }

  it("lets the View on the bench run on while another tab is looked at, and ends it with the inspector", async () => {
    const { frame, of } = await openBench();
    const panel = frame.closest("[role=tabpanel]")!;
    expect(panel.hasAttribute("inert")).toBe(false);
    await userEvent.keyboard("{Control>}2{/Control}");
    expect(screen.getByTestId("inspector-tab-context").dataset.state).toBe("active");
    expect([frame.isConnected, panel.hasAttribute("inert"), (panel as HTMLElement).dataset.state]).toEqual([true, true, "inactive"]);
    await userEvent.keyboard("{Control>}6{/Control}");
    expect(screen.getByTestId("view-frame")).toBe(frame);
    expect([panel.hasAttribute("inert"), of("open_bench"), of("close_view")]).toEqual([false, 1, 0]);
    await userEvent.click(screen.getByTestId("toggle-inspector"));
    await waitFor(() => expect(of("close_view")).toBe(1));
    // What was never opened is not drawn behind the others.
    await userEvent.keyboard("{Control>}2{/Control}");
    expect(screen.queryByTestId("bench-tab")).toBeNull();
  });

  it("keeps the keyboard in the bench that has the whole window, and lets the question out of it", async () => {
    const { ask } = await questioned();
    await userEvent.keyboard("{Control>}6{/Control}");
    await userEvent.click(await screen.findByTestId("bench-wide"));
    const covered = () => [screen.getByLabelText("Conversations and servers"), screen.getByRole("main", { hidden: true })].map((it) => it.hasAttribute("inert"));
    await waitFor(() => expect(covered()).toEqual([true, true]));
    ask();
    // It does not get the focus where it cannot be seen, and its key is said all the same.
    await waitFor(() => expect(screen.getByTestId("question-news").textContent).toContain("Ctrl+J goes to the question."));
    expect(screen.getByTestId("question-news").closest("[inert]")).toBeNull();
    expect(screen.getByTestId("bench-tab").contains(document.activeElement)).toBe(true);
    await userEvent.keyboard("{Control>}j{/Control}");
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("approval-once")));
    expect(covered()).toEqual([false, false]);
    // Another tab shows the conversation; the bench has the window again when it is gone back to.
    await userEvent.keyboard("{Control>}6{/Control}");
    await userEvent.click(screen.getByTestId("bench-wide"));
    await userEvent.keyboard("{Control>}2{/Control}");
    await waitFor(() => expect(covered()).toEqual([false, false]));
    await userEvent.keyboard("{Control>}6{/Control}");
    await waitFor(() => expect(covered()).toEqual([true, true]));
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(covered()).toEqual([false, false]));
    // What leads elsewhere gives the window back as well.
    await userEvent.click(screen.getByTestId("bench-wide"));
    await userEvent.keyboard("{F6}");
    await waitFor(() => expect(screen.getByLabelText("Conversations and servers").contains(document.activeElement)).toBe(true));
    expect(covered()).toEqual([false, false]);
  });

  it("deletes a conversation with the keyboard, after asking", async () => {
    await open();
    screen.getAllByTestId("conversation-row")[1]!.focus();
    await userEvent.keyboard("{Delete}");
    const dialog = within(await screen.findByRole("dialog"));
    expect(rows()).toContain("Sunrise pictures");
    await userEvent.click(dialog.getByRole("button", { name: "Delete" }));
    await waitFor(() => expect(rows()).not.toContain("Sunrise pictures"));
  });

  it("renames with F2, and keeps the title when it is left with Esc", async () => {
    await open();
    screen.getAllByTestId("conversation-row")[1]!.focus();
    await userEvent.keyboard("{F2}Dawn{Enter}");
    await waitFor(() => expect(rows()).toContain("Dawn"));
    screen.getAllByTestId("conversation-row")[2]!.focus();
    await userEvent.keyboard("{F2}Other{Escape}");
    expect(rows()).toContain("Deployment check");
  });

  it("finds what was written in a message, marks it and opens its conversation there", async () => {
    const { store } = await open();
    await store.openConversation("c2");
    const search = screen.getByLabelText("Search conversations");
    await userEvent.type(search, "w");
    expect(screen.getByTestId("search-status").textContent).toContain("from two characters on");
    await userEvent.type(search, "ere globex");
    const hit = await screen.findByTestId("search-hit");
    expect([...hit.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["Globex", "were"]);
    expect(screen.queryByText(/No (title|message)/)).toBeNull();
    await userEvent.click(hit);
    await waitFor(() => expect(store.conversation?.summary.id).toBe("c1"));
    await waitFor(() => expect(store.revealItemId).toBeNull());
  });

  it("says once that nothing was found", async () => {
    await open();
    await userEvent.type(screen.getByLabelText("Search conversations"), "nowhere");
    await waitFor(() => expect(screen.getByTestId("search-status").textContent).toContain("No title and no message has these words."));
    expect(screen.queryByTestId("conversation-row")).toBeNull();
  });

  it("takes the theme that was chosen, and none for the system's", async () => {
    const { store } = await open();
    expect(document.documentElement.dataset.theme).toBeUndefined();
    await store.rpc("save_settings", { settings: { ...store.state!.settings, theme: "dark" } });
    await waitFor(() => expect(document.documentElement.dataset.theme).toBe("dark"));
  });

  it("offers the tour once, and Esc ends it for good", async () => {
    const { store } = await open({ firstRun: true });
    expect(screen.getByTestId("tour").textContent).toContain("Ask, and a tool is called");
    // At the first start the caret is in the composer; the tour is within reach and Esc ends it from anywhere.
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("composer-input")));
    screen.getByTestId("tour").focus();
    await userEvent.keyboard("{ArrowRight}{ArrowRight}");
    expect(screen.getByTestId("tour").textContent).toContain("See what the model read");
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("tour")).toBeNull());
    expect(store.state?.settings.tour_done).toBe(true);
  });

  /** The window as it is before anything was ever asked in it. */
  async function openUnused() {
    const platform = fakePlatform({ stepMs: 1, firstRun: true });
    platform.world.conversations.clear();
    return openWith(platform);
  }

  it("goes on with the tour when something else was asked than the tour's own question", async () => {
    const { store } = await openUnused();
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("composer-input")));
    await userEvent.keyboard("Hello{Enter}");
    await waitFor(() => expect(store.conversation?.items.length).toBeGreaterThan(0));
    await waitFor(() => expect(screen.getByTestId("tour").textContent).toContain("One result, four audiences"));
  });

  it("offers the examples of the sample server only while it lists their tools", async () => {
    const { store } = await openUnused();
    const example = (): HTMLElement | null => screen.queryByRole("button", { name: "Which Globex accounts were active this week?" });
    await waitFor(() => expect(example()).not.toBeNull());
    store.state = { ...store.state!, servers: [] };
    await waitFor(() => expect(example()).toBeNull());
  });

  it("has a conversation at the first start, and can be written in at once", async () => {
    const platform = fakePlatform({ stepMs: 1, firstRun: true });
    for (const [id, one] of platform.world.conversations) {
      const summary = { ...one.summary, by_command: true };
      if (id === "c2") platform.world.conversations.set(id, { ...one, summary });
      else platform.world.conversations.delete(id);
    }
    const { store } = await openWith(platform);
    // What the command line left is marked and not opened by itself.
    expect(store.conversation?.items).toEqual([]);
    expect(rows()).toEqual(["New conversation", expect.stringContaining("command")]);
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("composer-input")));
    await userEvent.keyboard("Hello{Escape}");
    expect(screen.getByTestId<HTMLTextAreaElement>("composer-input").value).toBe("Hello");
    await waitFor(() => expect(screen.queryByTestId("tour")).toBeNull());
  });

  it("keeps no conversation in which nothing was written, and every other", async () => {
    const { store } = await open();
    await userEvent.keyboard("{Control>}n{/Control}");
    await waitFor(() => expect(rows()).toHaveLength(6));
    await userEvent.keyboard("{Control>}n{/Control}");
    expect(rows()).toHaveLength(6);
    await store.openConversation("c2");
    await waitFor(() => expect(rows()).toHaveLength(5));
    await userEvent.keyboard("{Control>}n{/Control}");
    await waitFor(() => expect(rows()).toHaveLength(6));
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("composer-input")));
    await userEvent.keyboard("a thought");
    await store.openConversation("c2");
    await waitFor(() => expect(store.conversation?.summary.id).toBe("c2"));
    expect(rows()).toHaveLength(6);
  });

  it("keeps a conversation in which a prompt is being filled in", async () => {
    const { store } = await open();
    await userEvent.keyboard("{Control>}n{/Control}");
    await waitFor(() => expect(rows()).toHaveLength(6));
    const started = store.conversationId ?? "";
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("composer-input")));
    await userEvent.keyboard("/acc");
    await userEvent.click(await screen.findByTestId("prompt-option"));
    await userEvent.type(await screen.findByTestId("prompt-argument-customer"), "Globex");
    await store.openConversation("c2");
    await waitFor(() => expect(store.conversation?.summary.id).toBe("c2"));
    expect(rows()).toHaveLength(6);
    await store.openConversation(started);
    expect(await screen.findByTestId("prompt-argument-customer")).toHaveProperty("value", "Globex");
  });

  it("keeps no empty conversation that was left while it was still being read", async () => {
    const { store } = await open();
    const started = store.newConversation();
    await waitFor(() => expect(rows()).toHaveLength(6));
    await store.openConversation("c2");
    await started;
    await waitFor(() => expect(rows()).toHaveLength(5));
  });

  it("gives a question the focus, and goes back to the composer when it is answered", async () => {
    const { ask } = await questioned();
    ask();
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("approval-once")));
    expect(screen.getByTestId("question-news").textContent).toContain("The focus is on Allow once.");
    // What was meant for the composer answers nothing, and a key that is held answers nothing either.
    await userEvent.keyboard("{Enter}");
    expect(screen.getByTestId("approval-once")).toBeTruthy();
    await userEvent.keyboard("so");
    expect(screen.getByTestId<HTMLTextAreaElement>("composer-input").value).toContain("o");
    await userEvent.keyboard("{Control>}j{/Control}");
    expect(document.activeElement).toBe(screen.getByTestId("approval-once"));
    await userEvent.click(screen.getByTestId("approval-refuse"));
    await waitFor(() => expect(screen.queryByTestId("approval-once")).toBeNull());
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("composer-input")));
  });

  it("takes the focus from nothing that is being written, and says the key", async () => {
    const { ask } = await questioned();
    await userEvent.keyboard("half a sent");
    ask();
    await waitFor(() => expect(screen.getByTestId("question-news").textContent).toContain("Ctrl+J goes to the question."));
    expect(document.activeElement).toBe(screen.getByTestId("composer-input"));
    await userEvent.click(screen.getByTestId("go-to-question"));
    expect(document.activeElement).toBe(screen.getByTestId("approval-once"));
  });

  it("takes a question from under a View that covers the window, once the View is back in its place", async () => {
    const { ask } = await questioned();
    displays.show({}, "fullscreen");
    ask();
    await waitFor(() => expect(screen.getByTestId("question-news").textContent).toContain("Ctrl+J goes to the question."));
    expect(document.activeElement).toBe(screen.getByTestId("composer-input"));
    await userEvent.keyboard("{Escape}");
    expect(displays.covered).toBe(false);
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("approval-once")));
  });

  it("says in the Script pane that the script waits, and goes to its question", async () => {
    const { store, platform, ask } = await questioned("script");
    platform.rpc = ((rpc) => (cmd, payload) => (cmd === "run_script" ? Promise.resolve("run-1" as never) : rpc(cmd, payload)))(platform.rpc);
    await userEvent.keyboard("{Control>}4{/Control}");
    scriptMemory(store.conversationId!).runId = "run-1";
    screen.getByTestId("inspector-tab-script").focus();
    ask();
    expect((await screen.findByTestId("script-asked")).textContent).toContain("waits for your answer");
    await userEvent.click(screen.getByTestId("script-question"));
    expect(document.activeElement).toBe(screen.getByTestId("approval-once"));
  });

  it("says what happened when there is no host", async () => {
    const platform = fakePlatform();
    platform.subscribe = () => Promise.reject({ what: "The database is locked.", safe: "Nothing changed.", todo: "Close the other Usher." });
    const store = new Store(platform);
    await store.start();
    render(App, { store });
    expect(screen.getByRole("alert").textContent).toContain("Close the other Usher.");
  });
});
