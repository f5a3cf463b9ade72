/**
 * The window as a host under test, in the shape that is discussed in public for hosts of MCP Apps
 * (modelcontextprotocol/ext-apps#743). Only a test build has it: `main.ts` loads it when the page was built with
 * `--mode host-test`. Every method does what a person at the window does, by the store's own commands or by the very
 * buttons, and what comes of it is the product's.
 * Deliberately absent: judgement. What must hold is said by the tests that drive this (docs/host-interface.md).
 */
import type { ItemKind } from "./bindings/ItemKind";
import type { Settings } from "./bindings/Settings";
import type { ToolCallView } from "./bindings/ToolCallView";
import { MODES, type Mode } from "./components/view/display.svelte";
import { offerings } from "./components/view/offerings.svelte";
import type { Store } from "./state/store.svelte";

/** A message as the transcript shows it. `role` is whose words they are; `view` marks what a View said or keeps. */
export interface ShownMessage {
  role: "user" | "assistant" | "tool" | "view" | "host";
  text: string;
}

/** What the model gets: the members of the last request that was sent to it. */
export interface ModelContext {
  messages: readonly unknown[];
  tools: readonly unknown[];
}

/** What can be changed of a View's surroundings. */
export interface ContextChange {
  theme?: "light" | "dark";
  locale?: string;
  timeZone?: string;
  containerDimensions?: { width: number };
  displayMode?: Mode;
}

/** How a call ended, and what the user is shown of it. */
export interface CallOutcome {
  state: ToolCallView["state"]["kind"];
  shown: readonly string[];
}

/** A tool that a View offers itself, as Usher took it. */
export interface AppTool {
  /** The call whose View offers it, for people. */
  view: string;
  name: string;
  description: string | null;
  inputSchema: unknown;
}

/** The interface that a runner drives; each method is described in docs/host-interface.md. */
export interface HostTest {
  displayTestApp(suite: string, input?: Record<string, unknown>): Promise<HTMLIFrameElement>;
  resetEnvironment(): Promise<void>;
  getConversation(): Promise<readonly ShownMessage[]>;
  getConversationContext(): Promise<ModelContext>;
  changeHostContext(change: ContextChange): Promise<void>;
  confirmAction(yes?: boolean): Promise<string>;
  sendMessage(text: string): Promise<void>;
  callTool(name: string, args?: Record<string, unknown>): Promise<CallOutcome>;
  getAppTools(): Promise<readonly AppTool[]>;
}

declare global {
  interface Window {
    usherHostTest?: HostTest;
  }
}

/** How long something may take that is bound to happen, in milliseconds. */
const PATIENCE_MS = 25_000;
const INTERVAL_MS = 25;
/** A question takes no answer in its first moments, so a press that came too early is made again. */
const PRESS_AGAIN_MS = 150;
/** The largest part of a payload that an outcome shows, in bytes. */
const SHOWN_BYTES = 1_048_576;

/** The buttons that agree, and those that do not, by their test id; where two agree, the first agrees to less. */
const YES = ["view-consent-once", "view-consent-view", "link-open", "question-send", "question-open", "sample-allow", "sample-send", "approval-once"];
const NO = ["view-consent-refuse", "link-cancel", "question-decline", "sample-refuse", "sample-keep", "approval-refuse"];
const STOP = "section.view button[aria-label='Stop the View']";
const KEYS: readonly string[] = ["theme", "locale", "timeZone", "containerDimensions", "displayMode"] satisfies readonly (keyof ContextChange)[];

/** Puts the interface into the window's reach. */
export function installHostTest(page: Window, store: Store): void {
  page.usherHostTest = new Driven(store);
}

class Driven implements HostTest {
  /** Conversations that were made here, to be taken away again. */
  readonly #made = new Set<string>();
  /** What puts the surroundings back. */
  readonly #undo = new Map<string, () => void>();
  #settings: Settings | null = null;

  constructor(private readonly store: Store) {}

  /**
   * Calls a tool that has a View in a fresh conversation, and answers with the View's frame once its page is set. The
   * suite is the name of the tool, or `server/tool`. Whoever starts it wants it to run, so the call is allowed once.
   */
  async displayTestApp(suite: string, input: Record<string, unknown> = {}): Promise<HTMLIFrameElement> {
    const { serverId, tool } = await until(`a server that is ready has a View ${suite}`, () => this.#find(suite, true));
    await this.#fresh();
    const { ended } = await this.#start(serverId, tool, input);
    // A View opens while its call runs; how the call ends is the View's to hear.
    ended.catch(() => undefined);
    return until("the frame of the View is there", () => {
      const frames = [...document.querySelectorAll<HTMLIFrameElement>("iframe[data-testid=view-frame]")];
      return frames.find((frame) => frame.isConnected && frame.src !== "");
    });
  }

  /** Stops the Views, takes the conversations of this interface away, and puts back what it changed around them. */
  async resetEnvironment(): Promise<void> {
    for (const question of this.store.state?.questions ?? []) {
      await this.store.rpc("answer_question", { question_id: question.id, action: "cancel", content_json: null });
    }
    for (const stop of document.querySelectorAll<HTMLButtonElement>(STOP)) stop.click();
    await until("every View has stopped", () => document.querySelector("iframe[data-testid=view-frame]") === null);
    for (const undo of this.#undo.values()) undo();
    this.#undo.clear();
    if (this.#settings !== null) await this.#save(this.#settings);
    this.#settings = null;
    for (const id of this.#made) await this.store.rpc("delete_conversation", { conversation_id: id });
    await until("they are gone", () => [...this.#made].every((id) => !this.store.state?.conversations.some((it) => it.id === id)));
    this.#made.clear();
    // The window is never without a conversation.
    await until("another conversation is open", () => this.store.conversation);
    for (const notice of this.store.localNotices) this.store.dismiss(notice.id);
  }

  /** What the user sees of the open conversation, in its order. */
  getConversation(): Promise<readonly ShownMessage[]> {
    return Promise.resolve((this.store.conversation?.items ?? []).map((item) => shown(item.kind)));
  }

  /** What the model got with the last request of the open conversation; nothing before the first. */
  async getConversationContext(): Promise<ModelContext> {
    const exchange = this.store.conversation?.exchanges.findLast((it) => it.asked_by === null);
    if (exchange === undefined) return { messages: [], tools: [] };
    const { body } = await this.store.rpc("exchange_body", { exchange_id: exchange.id });
    const sent = JSON.parse(body) as Partial<ModelContext>;
    return { messages: sent.messages ?? [], tools: sent.tools ?? [] };
  }

  /** Changes the theme, the locale, the time zone or the width around the Views, or where the newest View is shown. */
  async changeHostContext(change: ContextChange): Promise<void> {
    const unknown = Object.keys(change).filter((key) => !KEYS.includes(key));
    if (unknown.length > 0) throw new Error(`Usher cannot be told to change ${unknown.join(", ")}; it can change ${KEYS.join(", ")}.`);
    const { theme, locale, timeZone, containerDimensions, displayMode } = change;
    if (locale !== undefined) this.#replace(navigator, "language", { get: () => locale });
    if (timeZone !== undefined) {
      const formats = Object.getPrototypeOf(Intl.DateTimeFormat()) as Intl.DateTimeFormat;
      const resolved = formats.resolvedOptions;
      const value = function (this: Intl.DateTimeFormat) {
        return { ...resolved.call(this), timeZone };
      };
      this.#replace(formats, "resolvedOptions", { value });
    }
    if (theme !== undefined) {
      const settings = await until("the settings are here", () => this.store.state?.settings);
      this.#settings ??= settings;
      await this.#save({ ...settings, theme });
    }
    if (containerDimensions !== undefined) this.#widen(containerDimensions.width);
    if (displayMode !== undefined) await this.#showIn(displayMode);
    // The system tells a window so when its language changes, and a clock is looked at when the window is come back to.
    if (locale !== undefined) window.dispatchEvent(new Event("languagechange"));
    if (timeZone !== undefined) window.dispatchEvent(new Event("focus"));
  }

  /** Answers the question that is shown, or comes soon, by its button. Answers with what was asked. */
  async confirmAction(yes = true): Promise<string> {
    const question = await until("the window asks something", asked);
    const text = question.innerText;
    const ids = yes ? YES : NO;
    await until("the question has its button", () => buttonIn(question, ids));
    while (isAsked(question)) {
      buttonIn(question, ids)?.click();
      await pause(PRESS_AGAIN_MS);
    }
    return text;
  }

  /** Sends a message of the user, and waits until the answer is whole or waits for the user in its turn. */
  async sendMessage(text: string): Promise<void> {
    const id = this.#open();
    const before = this.store.conversation?.items.at(-1)?.seq ?? 0;
    await this.store.rpc("send_message", { conversation_id: id, text });
    await until("the model has answered", () => {
      const { items, turn } = this.store.conversation ?? { items: [], turn: null };
      const answered = items.some((it) => it.seq > before && it.kind.kind !== "user");
      return turn !== null && ((turn.kind === "idle" && answered) || turn.kind === "approval" || turn.kind === "failed");
    });
    const turn = this.store.conversation?.turn;
    if (turn?.kind === "failed") throw new Error(`${turn.what} ${turn.todo}`);
  }

  /** Calls a tool as the user does, by its name or as `server/tool`, and answers with how the call ended. */
  async callTool(name: string, args: Record<string, unknown> = {}): Promise<CallOutcome> {
    const { serverId, tool } = await until(`a server that is ready has a tool ${name}`, () => this.#find(name, false));
    const { callId, ended } = await this.#start(serverId, tool, args);
    await ended;
    const call = await until("the call has ended", () =>
      this.store.calls.find((it) => it.call_id === callId && it.state.kind !== "running" && it.state.kind !== "awaiting_approval"),
    );
    const texts = call.shown.map((it) => this.store.rpc("payload_text", { handle: it.handle, limit: SHOWN_BYTES }));
    return { state: call.state.kind, shown: (await Promise.all(texts)).map((it) => it.text) };
  }

  /** The tools that the Views of the open conversation offer themselves. The model may call them from its next request on. */
  getAppTools(): Promise<readonly AppTool[]> {
    const here = [...offerings.values()].filter((it) => it.conversationId === this.store.conversationId).sort((a, b) => a.number - b.number);
    const tools = here.flatMap((view) =>
      view.own.tools.map((it): AppTool => ({ view: view.label, name: it.name, description: it.description, inputSchema: JSON.parse(it.input_schema_json) as unknown })),
    );
    return Promise.resolve(tools);
  }

  async #save(settings: Settings): Promise<void> {
    await this.store.rpc("save_settings", { settings });
    await until("the window has the theme", () => (document.documentElement.dataset["theme"] ?? "system") === settings.theme);
  }

  async #fresh(): Promise<void> {
    const { id } = await this.store.rpc("create_conversation", { mode: null, model_id: null });
    this.#made.add(id);
    await this.store.openConversation(id);
  }

  #open(): string {
    const id = this.store.conversationId;
    if (id === null) throw new Error("No conversation is open; display a test App first.");
    return id;
  }

  /** The tool of a name, at the server of the newest View if several have it. */
  #find(name: string, hasView: boolean): { serverId: string; tool: string } | null {
    const slash = name.indexOf("/");
    const last = this.store.calls.findLast((call) => call.view !== null)?.server_id;
    const servers = (this.store.state?.servers ?? []).filter((it) => it.state.kind === "ready");
    const found = servers.flatMap((server) =>
      server.tools
        .filter((tool) => !hasView || tool.has_view)
        .filter((tool) => tool.name === name || (slash > 0 && server.id === name.slice(0, slash) && tool.name === name.slice(slash + 1)))
        .map((tool) => ({ serverId: server.id, tool: tool.name })),
    );
    return found.find((it) => it.serverId === last) ?? found[0] ?? null;
  }

  /** Begins a call of the user in the open conversation, which allows it once if it asks. */
  async #start(serverId: string, tool: string, args: Record<string, unknown>): Promise<{ callId: string; ended: Promise<unknown> }> {
    const known = new Set(this.store.calls.map((it) => it.call_id));
    const ended = this.store.rpc("call_tool", { conversation_id: this.#open(), server_id: serverId, tool, arguments_json: JSON.stringify(args) });
    const begun = until(`the call of ${tool} is shown`, () => this.store.calls.find((it) => it.origin === "user" && !known.has(it.call_id)));
    // A call that cannot be begun is never shown.
    const call = await Promise.race([begun, ended.then(() => begun)]);
    void this.#allow(call.call_id, ended);
    return { callId: call.call_id, ended };
  }

  /** Allows a call when it asks, once; one that is allowed already never does. */
  async #allow(callId: string, ended: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    ended.then(over, over);
    while (!isOver) {
      if (this.store.waiting.some((it) => it.call_id === callId)) {
        await this.store.ask("answer_approval", { call_id: callId, choice: "once" });
        return;
      }
      await pause(INTERVAL_MS);
    }
  }

  /** Puts something else in the place of a property, until the environment is reset. */
  #replace(of: object, name: string, property: PropertyDescriptor): void {
    this.#undo.get(name)?.();
    const own = Object.getOwnPropertyDescriptor(of, name);
    Object.defineProperty(of, name, { ...property, configurable: true });
    this.#undo.set(name, () => {
      if (own === undefined) Reflect.deleteProperty(of, name);
      else Object.defineProperty(of, name, own);
    });
  }

  /** Shows the newest View in a mode by the buttons of its bar, as a person does. */
  async #showIn(wanted: Mode): Promise<void> {
    if (!MODES.includes(wanted)) throw new Error(`${wanted} is none of the display modes ${MODES.join(", ")}.`);
    const section = [...document.querySelectorAll<HTMLElement>("section.view")].findLast((it) => it.querySelector("[data-testid=view-frame]") !== null);
    if (section === undefined) throw new Error("No View is shown whose display mode could change.");
    const now = section.dataset["mode"];
    if (now === wanted) return;
    const button = section.querySelector<HTMLButtonElement>(`[data-testid="view-${wanted === "inline" ? now : wanted}"]`);
    if (button === null) throw new Error(`The View is not to be shown in the mode ${wanted}: it does not declare it.`);
    button.click();
    await until(`the View is shown in the mode ${wanted}`, () => section.dataset["mode"] === wanted);
  }

  /** Gives the newest View a width in pixels, as a narrower window does. */
  #widen(width: number): void {
    const frame = [...document.querySelectorAll<HTMLElement>("[data-testid=view-frame]")].at(-1);
    const section = frame?.closest<HTMLElement>("section.view");
    if (frame === undefined || section === null || section === undefined) throw new Error("No View is shown whose width could change.");
    const most = section.parentElement?.clientWidth ?? 0;
    const around = section.offsetWidth - frame.clientWidth;
    if (width + around > most) throw new Error(`The window has ${most - around} pixels for a View.`);
    this.#undo.set("width", () => section.style.removeProperty("width"));
    section.style.width = `${width + around}px`;
  }
}

function shown(kind: ItemKind): ShownMessage {
  switch (kind.kind) {
    case "user":
    case "assistant":
      return { role: kind.kind, text: kind.text };
    case "tool_call":
      return { role: "tool", text: `${kind.call.tool}: ${kind.call.state.kind}` };
    case "door":
      return { role: kind.words === null ? "user" : "view", text: kind.words ?? kind.text };
    case "brought":
      return { role: "user", text: kind.name };
    case "note":
      return { role: "host", text: kind.text };
  }
}

/** What the window asks now: a dialog, or else the oldest call that waits. */
function asked(): HTMLElement | null {
  const dialogs = [...document.querySelectorAll<HTMLElement>("[role=dialog], [role=alertdialog]")];
  return dialogs.find(isAsked) ?? document.querySelector<HTMLElement>("[data-question]");
}

function isAsked(question: HTMLElement): boolean {
  return question.isConnected && question.dataset["state"] !== "closed";
}

function buttonIn(question: HTMLElement, ids: readonly string[]): HTMLButtonElement | null {
  const buttons = ids.map((id) => question.querySelector<HTMLButtonElement>(`[data-testid="${id}"]`));
  return buttons.find((it) => it !== null) ?? null;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Waits until there is something; what is bound to happen is looked for and never slept for. */
async function until<T>(what: string, look: () => T): Promise<Exclude<T, null | undefined | false>> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = look();
    if (found !== null && found !== undefined && found !== false) return found as Exclude<T, null | undefined | false>;
    if (performance.now() > end) throw new Error(`Waited ${PATIENCE_MS / 1000} s in vain until ${what}.`);
    await pause(INTERVAL_MS);
  }
}
