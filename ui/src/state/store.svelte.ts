import { getContext, setContext } from "svelte";
import type { ApiError } from "../bindings/ApiError";
import type { ConversationView } from "../bindings/ConversationView";
import type { NoticeLevel } from "../bindings/NoticeLevel";
import type { NoticeView } from "../bindings/NoticeView";
import type { ToolCallView } from "../bindings/ToolCallView";
import type { UiBatch } from "../bindings/UiBatch";
import type { ViewLaunch } from "../bindings/ViewLaunch";
import { toApiError, type AnswerOf, type CommandName, type PayloadOf, type Platform } from "../platform/types";
import { applyBatch, fromSnapshot, withConversation, type AppState } from "./reduce";

/** The tabs of the inspector. */
export type InspectorTab = "routing" | "context" | "wire" | "script" | "contract" | "view";

const KEY = Symbol("store");
/** How often an opening conversation is read again because events arrived meanwhile. */
const OPEN_TRIES = 3;
/** Commands after which a conversation is worth keeping. */
const USES: ReadonlySet<CommandName> = new Set<CommandName>(["send_message", "send_prompt", "attach_resource", "call_tool", "run_script", "rename_conversation", "open_bench"]);

/**
 * What the components read and do. It holds the reduced state and the window's own choices
 * (what is open, what is selected); everything that lasts is the host's.
 */
export class Store {
  /** The host's state; `null` until the first snapshot. */
  state = $state.raw<AppState | null>(null);
  /** Why there is no state, if there will be none. */
  failure = $state.raw<ApiError | null>(null);
  /** Which conversation the centre shows. */
  conversationId = $state<string | null>(null);
  /** The inspector's tab. */
  tab = $state<InspectorTab>("routing");
  /** The call that the inspector is about; the last one when none was picked. */
  pickedCallId = $state<string | null>(null);
  /** The server, and the tool of it, whose contract was asked for; until the Contract tab has taken it over. */
  contractFor = $state.raw<{ serverId: string; tool: string | null } | null>(null);
  /** The item of the open conversation that should be brought into sight, until it is. */
  revealItemId = $state<string | null>(null);
  /** The server whose resources are looked at, and the one to open at once. */
  browse = $state.raw<{ serverId: string; uri: string | null } | null>(null);
  /** What the window itself has to say, such as a refused command. */
  localNotices = $state.raw<readonly NoticeView[]>([]);

  /** The conversation that the centre shows, once it is here. */
  conversation: ConversationView | null = $derived(
    this.conversationId === null ? null : (this.state?.open[this.conversationId] ?? null),
  );
  /** The calls of that conversation, oldest first. */
  calls: readonly ToolCallView[] = $derived(
    (this.conversation?.items ?? []).flatMap((item) =>
      item.kind.kind === "tool_call" ? [item.kind.call] : [],
    ),
  );
  /** The call that the inspector is about. */
  call: ToolCallView | null = $derived(
    this.calls.find((c) => c.call_id === this.pickedCallId) ?? this.calls.at(-1) ?? null,
  );

  /** The calls that wait for the user, oldest first. */
  waiting: readonly ToolCallView[] = $derived(this.calls.filter((call) => call.state.kind === "awaiting_approval"));
  /** Whether something was written for a conversation and not sent yet; said by whoever keeps it. */
  holdsDraft: (conversationId: string) => boolean = () => false;
  /** The window closes and waits a moment for its Views; said by whoever has them. */
  closes: () => void = () => undefined;

  readonly #platform: Platform;
  readonly #viewListeners = new Map<string, Set<(messageJson: string) => void>>();
  /** What was said to a View before its frame listened. */
  readonly #unheard = new Map<string, string[]>();
  #viewsOpening = 0;
  /** Events seen for a conversation while it is being opened. */
  readonly #opening = new Map<string, number>();
  /** Conversations in which something was begun here, also if no event of it came yet. */
  readonly #used = new Set<string>();
  #generation = 0;
  #noticeCount = 0;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Subscribes and opens a conversation, the newest of the window if it is not there; there is always one. */
  async start(first: string | null = null): Promise<void> {
    await this.#subscribe(null);
    if (this.conversationId !== null || this.state === null) return;
    if (first !== null && this.state.conversations.some((one) => one.id === first)) await this.openConversation(first);
    else await this.#openNewest();
  }

  /** Asks the host; a refusal is thrown as an `ApiError`. */
  rpc<K extends CommandName>(cmd: K, payload: PayloadOf<K>): Promise<AnswerOf<K>> {
    if ("conversation_id" in payload && USES.has(cmd)) this.#used.add(payload.conversation_id);
    return this.#platform.rpc(cmd, payload);
  }

  /** Asks the host; a refusal becomes a notice and the answer is `null`. */
  async ask<K extends CommandName>(cmd: K, payload: PayloadOf<K>): Promise<AnswerOf<K> | null> {
    try {
      return await this.rpc(cmd, payload);
    } catch (thrown) {
      this.report(thrown);
      return null;
    }
  }

  /** Tells the user about something that was thrown. */
  report(thrown: unknown): void {
    this.say("error", toApiError(thrown));
  }

  /** Tells the user something, in three sentences. */
  say(level: NoticeLevel, text: ApiError): void {
    this.#noticeCount += 1;
    const notice = { id: `window-${this.#noticeCount}`, level, ...text };
    const same = (n: NoticeView) => n.what === text.what && n.todo === text.todo;
    this.localNotices = [...this.localNotices.filter((n) => !same(n)), notice];
  }

  /** Takes away one of the window's own notices. */
  dismiss(noticeId: string): void {
    this.localNotices = this.localNotices.filter((n) => n.id !== noticeId);
  }

  /** Shows a conversation, reading it whole if it is not here yet. */
  async openConversation(id: string): Promise<void> {
    const left = this.conversationId;
    this.conversationId = id;
    this.pickedCallId = null;
    // What its Views ask comes first; whether the host heard of it changes nothing here.
    void this.#platform.rpc("look_at_conversation", { conversation_id: id }).catch(() => undefined);
    if (left !== null && left !== id) this.#leave(left);
    if (this.state?.open[id] === undefined) await this.#read(id);
    // It may have been left while it was read.
    if (this.conversationId !== id) this.#leave(id);
  }

  /** Shows a conversation where one of its items stands. */
  async openAt(id: string, itemId: string | null): Promise<void> {
    this.revealItemId = itemId;
    await this.openConversation(id);
  }

  /** Starts a conversation and shows it; one in which nothing was said yet is as good as new. */
  async newConversation(): Promise<void> {
    if (this.conversation !== null && this.conversation.summary.mode === "chat" && this.#isUnused(this.conversation)) return;
    const current = this.conversation?.summary ?? null;
    const summary = await this.ask("create_conversation", {
      mode: null,
      model_id: current?.model_id ?? null,
    });
    if (summary !== null) await this.openConversation(summary.id);
  }

  /** Changes the mode, the model or the custom choices of the open conversation. */
  async configure(change: Partial<Omit<PayloadOf<"configure_conversation">, "conversation_id">>): Promise<void> {
    const id = this.conversationId;
    if (id === null) return;
    const payload = { conversation_id: id, mode: null, model_id: null, custom: null, ...change };
    const summary = await this.#platform.rpc("configure_conversation", payload);
    const open = this.state?.open[id];
    if (this.state === null || open === undefined) return;
    // No event carries the custom choices, so the accepted ones are kept here.
    const custom = payload.custom ?? open.custom;
    this.state = withConversation(this.state, { ...open, summary, custom });
  }

  /** Turns the inspector to a call. */
  pickCall(callId: string | null, tab?: InspectorTab): void {
    this.pickedCallId = callId;
    if (tab !== undefined) this.tab = tab;
  }

  /**
   * Opens the View of a call. From the moment that the host knows the View it may speak to it, before this answer is
   * here and long before a frame listens; so what it says is kept until somebody does.
   */
  async openView(callId: string): Promise<ViewLaunch> {
    this.#viewsOpening += 1;
    try {
      const launch = await this.rpc("open_view", { call_id: callId });
      if (!this.#unheard.has(launch.view_id)) this.#unheard.set(launch.view_id, []);
      return launch;
    } finally {
      this.#viewsOpening -= 1;
    }
  }

  /** Tells the host that a View is gone, and forgets what was said to it. */
  async closeView(viewId: string): Promise<void> {
    try {
      await this.rpc("close_view", { view_id: viewId });
    } finally {
      this.#unheard.delete(viewId);
      if (this.state !== null && (viewId in this.state.access || viewId in this.state.ended)) {
        const { [viewId]: _gone, ...access } = this.state.access;
        const { [viewId]: _why, ...ended } = this.state.ended;
        this.state = { ...this.state, access, ended };
      }
    }
  }

  /** Listens to the messages that the host sends to a View, those of before included. Call the answer to stop. */
  onViewMessage(viewId: string, listener: (messageJson: string) => void): () => void {
    const listeners = this.#viewListeners.get(viewId) ?? new Set();
    listeners.add(listener);
    this.#viewListeners.set(viewId, listeners);
    const unheard = this.#unheard.get(viewId) ?? [];
    this.#unheard.delete(viewId);
    for (const message of unheard) listener(message);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#viewListeners.delete(viewId);
    };
  }

  async #subscribe(since: number | null): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    // Batches may overtake the snapshot; they wait for it.
    let early: UiBatch[] | null = [];
    try {
      const snapshot = await this.#platform.subscribe(since, (batch) => {
        if (generation !== this.#generation) return;
        if (early !== null) early.push(batch);
        else this.#take(batch);
      });
      if (generation !== this.#generation) return;
      const scripts = this.state?.scripts ?? {};
      const wasOpen = Object.keys(this.state?.open ?? {});
      const kept = this.state?.open ?? {};
      const { news = {}, access = {}, ended = {} } = this.state ?? {};
      this.state = { ...fromSnapshot(snapshot), scripts, news, access, ended, open: kept };
      this.failure = null;
      const waiting = early;
      early = null;
      for (const batch of waiting) this.#take(batch);
      // What was open may have missed events, so it is read again.
      await Promise.all(wasOpen.map((id) => this.#read(id)));
    } catch (thrown) {
      if (generation !== this.#generation) return;
      if (this.state === null) this.failure = toApiError(thrown);
      else this.report(thrown);
    }
  }

  #take(batch: UiBatch): void {
    if (this.state === null) return;
    const outcome = applyBatch(this.state, batch);
    if (outcome.kind === "gap") {
      void this.#subscribe(this.state.nextSeq);
      return;
    }
    this.state = outcome.state;
    for (const event of outcome.events) {
      if (event.type === "view_message") {
        this.#tellView(event.view_id, event.message_json);
      } else if (event.type === "window_closes") {
        this.closes();
      } else if (event.type === "conversation_removed") {
        if (this.conversationId === event.conversation_id) this.#showNewest();
      } else if ("conversation_id" in event) {
        const seen = this.#opening.get(event.conversation_id);
        if (seen !== undefined) this.#opening.set(event.conversation_id, seen + 1);
      }
    }
  }

  #tellView(viewId: string, messageJson: string): void {
    const listeners = this.#viewListeners.get(viewId);
    if (listeners !== undefined) {
      for (const listener of listeners) listener(messageJson);
      return;
    }
    const unheard = this.#unheard.get(viewId);
    if (unheard !== undefined) unheard.push(messageJson);
    // Which View it is for is known when the answer comes.
    else if (this.#viewsOpening > 0) this.#unheard.set(viewId, [messageJson]);
  }

  #showNewest(): void {
    this.conversationId = null;
    void this.#openNewest();
  }

  /** What the command line left is opened when it is chosen, not by itself. */
  async #openNewest(): Promise<void> {
    const newest = this.state?.conversations.find((one) => !one.by_command);
    if (newest !== undefined) await this.openConversation(newest.id);
    else await this.newConversation();
  }

  /** Nobody looks for a conversation in which nothing was said. */
  #leave(id: string): void {
    const left = this.state?.open[id];
    if (left !== undefined && this.#isUnused(left)) void this.ask("delete_conversation", { conversation_id: id });
  }

  #isUnused({ summary, items, custom }: ConversationView): boolean {
    return items.length === 0 && custom.length === 0 && !summary.busy && !this.#used.has(summary.id) && !this.holdsDraft(summary.id);
  }

  /**
   * The answer does not say which events it holds, so when events of that conversation
   * arrive while it is on its way, it is asked for again.
   */
  async #read(id: string): Promise<void> {
    try {
      for (let tries = 1; ; tries += 1) {
        this.#opening.set(id, 0);
        const view = await this.#platform.rpc("open_conversation", { conversation_id: id });
        const quiet = this.#opening.get(id) === 0;
        if (this.state !== null) this.state = withConversation(this.state, view);
        if (quiet || tries === OPEN_TRIES) return;
      }
    } catch (thrown) {
      this.report(thrown);
    } finally {
      this.#opening.delete(id);
    }
  }
}

/** Gives the store to the components below. */
export function provideStore(store: Store): void {
  setContext(KEY, store);
}

/** The store that stands above this component. */
export function useStore(): Store {
  const store = getContext<Store | undefined>(KEY);
  if (store === undefined) throw new Error("No store was provided above this component.");
  return store;
}
