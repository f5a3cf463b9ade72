import type { ApprovalChoice } from "../../bindings/ApprovalChoice";
import type { ConversationView } from "../../bindings/ConversationView";
import type { ItemKind } from "../../bindings/ItemKind";
import type { ToolCallView } from "../../bindings/ToolCallView";
import type { TurnView } from "../../bindings/TurnView";
import type { UiEvent } from "../../bindings/UiEvent";
import type { World } from "../fake";
import { demoCall, demoExchange, item, searchCall, searchLedger } from "./conversation";
import { CHIP } from "./servers";

const ANSWER =
  "37 Globex records match. The three most recently active are **Globex Retail**, **Globex Energy** and **Globex Labs**; the full list is in the table above.";

/** Plays turns: a call that brings a table, a call that asks first, an answer word by word. */
export class DemoTurn {
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>[]>();
  readonly #calls = new Map<string, { conversationId: string; itemId: string }>();

  constructor(
    readonly world: World,
    readonly stepMs: number,
  ) {}

  /** Takes a message and answers it. */
  send(conversationId: string, text: string): void {
    this.addItem(conversationId, { kind: "user", text });
    if (/delete|remove|löschen/i.test(text)) this.#askFirst(conversationId);
    else if (/account|customer|globex|active/i.test(text)) this.callTool(conversationId, "search_customers");
    else this.answer(conversationId, "I am a demonstration: ask me about **Globex accounts**, or to delete one.");
  }

  /** Runs a tool and answers about it. */
  callTool(conversationId: string, tool: string): void {
    const number = this.world.fresh();
    const done = tool === "search_customers" ? searchCall(number) : demoCall(number, tool, { elapsed_ms: 12 });
    const running: ToolCallView = {
      ...done,
      state: { kind: "running", progress: null },
      deliveries: [],
      withheld: [],
      defects: [],
      shown: [],
      elapsed_ms: null,
    };
    const itemId = this.addItem(conversationId, { kind: "tool_call", call: running });
    this.#calls.set(done.call_id, { conversationId, itemId });
    this.#turn(conversationId, { kind: "tools", running: 1 });
    this.#later(conversationId, 6, () => {
      this.#setCall(done);
      const rows = searchLedger(done, this.world.fresh() * 10, this.world.now());
      this.#extend(conversationId, { ledger: rows }, { type: "ledger_appended", conversation_id: conversationId, rows });
      this.answer(conversationId, ANSWER);
    });
  }

  /** Writes an answer word by word. */
  answer(conversationId: string, text: string): void {
    const itemId = this.addItem(conversationId, {
      kind: "assistant",
      text: "",
      state: { kind: "streaming" },
      model: "llama3.2",
      usage: null,
    });
    this.#turn(conversationId, { kind: "streaming" });
    const words = text.split(/(?<= )/);
    words.forEach((word, i) => {
      const offset = words.slice(0, i).join("").length;
      this.#later(conversationId, i + 1, () => {
        this.#patch(conversationId, itemId, (k) => (k.kind === "assistant" ? { ...k, text: k.text + word } : k));
        this.world.emit({ type: "text_appended", conversation_id: conversationId, item_id: itemId, offset, text: word });
      });
    });
    this.#later(conversationId, words.length + 1, () => {
      this.#set(conversationId, itemId, (k) =>
        k.kind === "assistant"
          ? { ...k, state: { kind: "done" }, usage: { prompt_tokens: 3100, answer_tokens: words.length } }
          : k,
      );
      const exchange = demoExchange(`x${this.world.fresh()}`, this.world.now());
      this.#extend(conversationId, { exchanges: [exchange] }, { type: "exchange_changed", conversation_id: conversationId, exchange });
      this.#turn(conversationId, { kind: "idle" });
    });
  }

  /** Stops what runs. */
  stop(conversationId: string): void {
    for (const timer of this.#timers.get(conversationId) ?? []) clearTimeout(timer);
    this.#timers.delete(conversationId);
    const c = this.world.conversations.get(conversationId);
    for (const one of c?.items ?? []) {
      this.#set(conversationId, one.id, (k) => {
        if (k.kind === "assistant" && k.state.kind === "streaming") return { ...k, state: { kind: "stopped" } };
        if (k.kind === "tool_call" && (k.call.state.kind === "running" || k.call.state.kind === "awaiting_approval"))
          return { ...k, call: { ...k.call, state: { kind: "cancelled" } } };
        return k;
      });
    }
    if (c !== undefined) this.#turn(conversationId, { kind: "idle" });
  }

  /** Goes on after the user's answer to an approval. */
  approve(callId: string, choice: ApprovalChoice): void {
    const place = this.#place(callId);
    if (place === null) return;
    const refused = choice === "refuse" || choice === "never";
    this.#set(place.conversationId, place.itemId, (k) =>
      k.kind === "tool_call"
        ? {
            ...k,
            call: {
              ...k.call,
              state: refused ? { kind: "refused" } : { kind: "done" },
              elapsed_ms: refused ? null : 31,
              deliveries: refused
                ? []
                : [{ consumer: "model", chip: CHIP.assistant, what: "assistant/content", bytes: 38, handle: "h-del-model", door: "contract", verdict: null, how: "one text block" }],
            },
          }
        : k,
    );
    this.answer(
      place.conversationId,
      refused ? "You refused the call, so the account is still there." : "The account was deleted.",
    );
  }

  /** Cancels a running call. */
  cancel(callId: string): void {
    const place = this.#place(callId);
    if (place === null) return;
    this.#set(place.conversationId, place.itemId, (k) =>
      k.kind === "tool_call" ? { ...k, call: { ...k.call, state: { kind: "cancelled" } } } : k,
    );
    this.#turn(place.conversationId, { kind: "idle" });
  }

  /** Takes an entry out. */
  removeItem(conversationId: string, itemId: string): void {
    const c = this.world.conversations.get(conversationId);
    if (c === undefined) return;
    this.world.conversations.set(conversationId, { ...c, items: c.items.filter((it) => it.id !== itemId) });
    this.world.emit({ type: "item_removed", conversation_id: conversationId, item_id: itemId });
  }

  /** Adds an entry and answers its id. */
  addItem(conversationId: string, kind: ItemKind): string {
    const c = this.world.conversations.get(conversationId);
    if (c === undefined) return "";
    const seq = (c.items.at(-1)?.seq ?? 0) + 1;
    const added = item(`${conversationId}-${this.world.fresh()}`, seq, this.world.now(), kind);
    this.world.conversations.set(conversationId, { ...c, items: [...c.items, added] });
    this.world.emit({ type: "item_changed", conversation_id: conversationId, item: added });
    const title = kind.kind === "user" && c.items.length === 0 ? kind.text.slice(0, 40) : c.summary.title;
    this.put(conversationId, {
      summary: { ...c.summary, title, message_count: c.summary.message_count + 1, updated_ms: this.world.now() },
    });
    return added.id;
  }

  /** Changes a conversation and says so. */
  put(conversationId: string, change: Partial<ConversationView>): void {
    const c = this.world.conversations.get(conversationId);
    if (c === undefined) return;
    const next = { ...c, ...change };
    this.world.conversations.set(conversationId, next);
    this.world.emit({ type: "conversation_changed", summary: next.summary });
  }

  #askFirst(conversationId: string): void {
    const number = this.world.fresh();
    const call = demoCall(number, "delete_account", {
      title: "Delete an account",
      arguments_json: '{"account":"Globex Freight","customer_id":9007199254742530}',
      requested: [CHIP.assistant],
      state: { kind: "awaiting_approval", why: "The server says that this tool changes things and cannot be undone." },
    });
    const itemId = this.addItem(conversationId, { kind: "tool_call", call });
    this.#calls.set(call.call_id, { conversationId, itemId });
    this.#turn(conversationId, { kind: "approval", call_id: call.call_id });
  }

  #place(callId: string): { conversationId: string; itemId: string } | null {
    const known = this.#calls.get(callId);
    if (known !== undefined) return known;
    for (const [conversationId, c] of this.world.conversations) {
      const found = c.items.find((i) => i.kind.kind === "tool_call" && i.kind.call.call_id === callId);
      if (found !== undefined) return { conversationId, itemId: found.id };
    }
    return null;
  }

  #setCall(call: ToolCallView): void {
    const place = this.#place(call.call_id);
    if (place !== null) this.#set(place.conversationId, place.itemId, () => ({ kind: "tool_call", call }));
  }

  /** Changes an entry without a word. */
  #patch(conversationId: string, itemId: string, change: (kind: ItemKind) => ItemKind): boolean {
    const c = this.world.conversations.get(conversationId);
    const before = c?.items.find((i) => i.id === itemId);
    if (c === undefined || before === undefined) return false;
    const kind = change(before.kind);
    if (kind === before.kind) return false;
    const items = c.items.map((i) => (i.id === itemId ? { ...i, kind } : i));
    this.world.conversations.set(conversationId, { ...c, items });
    return true;
  }

  #set(conversationId: string, itemId: string, change: (kind: ItemKind) => ItemKind): void {
    if (!this.#patch(conversationId, itemId, change)) return;
    const changed = this.world.conversations.get(conversationId)?.items.find((i) => i.id === itemId);
    if (changed !== undefined) {
      this.world.emit({ type: "item_changed", conversation_id: conversationId, item: changed });
    }
  }

  #extend(
    conversationId: string,
    more: Partial<Pick<ConversationView, "ledger" | "exchanges">>,
    event: UiEvent,
  ): void {
    const c = this.world.conversations.get(conversationId);
    if (c === undefined) return;
    this.world.conversations.set(conversationId, {
      ...c,
      ledger: [...c.ledger, ...(more.ledger ?? [])],
      exchanges: [...c.exchanges, ...(more.exchanges ?? [])],
    });
    this.world.emit(event);
  }

  #turn(conversationId: string, turn: TurnView): void {
    const c = this.world.conversations.get(conversationId);
    if (c === undefined) return;
    const summary = { ...c.summary, busy: turn.kind !== "idle" && turn.kind !== "failed" };
    this.world.conversations.set(conversationId, { ...c, turn, summary });
    this.world.emit(
      { type: "turn_changed", conversation_id: conversationId, turn },
      { type: "conversation_changed", summary },
    );
  }

  #later(conversationId: string, steps: number, run: () => void): void {
    const timers = this.#timers.get(conversationId) ?? [];
    timers.push(setTimeout(run, steps * this.stepMs));
    this.#timers.set(conversationId, timers);
  }
}
