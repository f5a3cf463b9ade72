import type { ConversationSummary } from "../bindings/ConversationSummary";
import type { ConversationView } from "../bindings/ConversationView";
import type { Item } from "../bindings/Item";
import type { LedgerRow } from "../bindings/LedgerRow";
import type { ModelView } from "../bindings/ModelView";
import type { NoticeView } from "../bindings/NoticeView";
import type { QuestionView } from "../bindings/QuestionView";
import type { ScriptLine } from "../bindings/ScriptLine";
import type { ServerView } from "../bindings/ServerView";
import type { Settings } from "../bindings/Settings";
import type { Snapshot } from "../bindings/Snapshot";
import type { UiBatch } from "../bindings/UiBatch";
import type { UiEvent } from "../bindings/UiEvent";
import type { WishStateView } from "../bindings/WishStateView";

/** Lines kept of one script's run; a script that prints without end must not fill the window. */
export const SCRIPT_LINES_KEPT = 2000;

/** All that the window knows of the host. It is replaced, never changed in place. */
export interface AppState {
  /** The sequence number of the next event that fits. */
  readonly nextSeq: number;
  readonly version: string;
  readonly dataDir: string;
  readonly firstRun: boolean;
  readonly servers: readonly ServerView[];
  /** Newest first. */
  readonly conversations: readonly ConversationSummary[];
  readonly models: readonly ModelView[];
  readonly settings: Settings;
  readonly notices: readonly NoticeView[];
  /** What servers ask, oldest first. */
  readonly questions: readonly QuestionView[];
  /** What open Views may have that changed since they were opened, by View. */
  readonly access: Readonly<Record<string, AccessNews>>;
  /** Why Views were ended by the host that the window has not closed yet, by View. */
  readonly ended: Readonly<Record<string, string>>;
  /** What servers say of their prompts and resources, by server. */
  readonly news: Readonly<Record<string, ServerNews>>;
  /** The conversations that were opened, whole, by id. */
  readonly open: Readonly<Record<string, ConversationView>>;
  /** What scripts wrote, by run. */
  readonly scripts: Readonly<Record<string, readonly ScriptLine[]>>;
}

/** What an open View may have now. */
export interface AccessNews {
  readonly wishes: readonly WishStateView[];
  /** The user has just allowed what this View asked for; it is to start again with it. */
  readonly startsAgain: boolean;
}

/** How often a server said that something of it changed since the window opened. */
export interface ServerNews {
  readonly prompts: number;
  readonly resources: number;
  /** By address. */
  readonly updated: Readonly<Record<string, number>>;
}

/** A server that has said nothing. */
export const NO_NEWS: ServerNews = { prompts: 0, resources: 0, updated: {} };

/** The state that a snapshot describes; conversations are opened anew after it. */
export function fromSnapshot(snapshot: Snapshot): AppState {
  return {
    nextSeq: snapshot.next_seq,
    version: snapshot.version,
    dataDir: snapshot.data_dir,
    firstRun: snapshot.first_run,
    servers: snapshot.servers,
    conversations: newestFirst(snapshot.conversations),
    models: snapshot.models,
    settings: snapshot.settings,
    notices: snapshot.notices,
    questions: snapshot.questions,
    access: {},
    ended: {},
    news: {},
    open: {},
    scripts: {},
  };
}

/** What a batch does: the state after it, or the word that events are missing before it. */
export type BatchOutcome =
  | { kind: "applied"; state: AppState; events: readonly UiEvent[] }
  | { kind: "gap" };

/**
 * Applies a batch once. Events that the state already holds are skipped, because a new
 * subscription may repeat its tail; a batch that starts too late is a gap.
 */
export function applyBatch(state: AppState, batch: UiBatch): BatchOutcome {
  if (batch.first_seq > state.nextSeq) return { kind: "gap" };
  const events = batch.events.slice(state.nextSeq - batch.first_seq);
  let next = state;
  for (const event of events) next = reduce(next, event);
  const nextSeq = Math.max(state.nextSeq, batch.first_seq + batch.events.length);
  return { kind: "applied", state: { ...next, nextSeq }, events };
}

/** The state after one event. Pure, and total over the closed `UiEvent`. */
export function reduce(state: AppState, event: UiEvent): AppState {
  switch (event.type) {
    case "server_changed":
      return { ...state, servers: replaceOrAppend(state.servers, event.server) };
    case "server_removed":
      return { ...state, servers: state.servers.filter((s) => s.id !== event.server_id) };
    case "conversation_changed":
      return conversationChanged(state, event.summary);
    case "conversation_removed":
      return conversationRemoved(state, event.conversation_id);
    case "item_changed":
      return inConversation(state, event.conversation_id, (c) => ({
        ...c,
        items: placeItem(c.items, event.item),
      }));
    case "item_removed":
      return inConversation(state, event.conversation_id, (c) => ({
        ...c,
        items: c.items.filter((item) => item.id !== event.item_id),
      }));
    case "text_appended":
      return inConversation(state, event.conversation_id, (c) => ({
        ...c,
        items: appendText(c.items, event.item_id, event.offset, event.text),
      }));
    case "turn_changed":
      return inConversation(state, event.conversation_id, (c) => ({ ...c, turn: event.turn }));
    case "ledger_appended":
      return inConversation(state, event.conversation_id, (c) => ({
        ...c,
        ledger: appendRows(c.ledger, event.rows),
      }));
    case "ledger_folded":
      return inConversation(state, event.conversation_id, (c) => ({
        ...c,
        ledger: foldRows(c.ledger, event.call_ids, event.rows),
      }));
    case "exchange_changed":
      return inConversation(state, event.conversation_id, (c) => ({
        ...c,
        exchanges: replaceOrAppend(c.exchanges, event.exchange),
      }));
    case "script_output":
      return scriptOutput(state, event.run_id, event.line);
    case "models_changed":
      return { ...state, models: event.models };
    case "prompts_changed":
      return withNews(state, event.server_id, (news) => ({ ...news, prompts: news.prompts + 1 }));
    case "resources_changed":
      return withNews(state, event.server_id, (news) => ({ ...news, resources: news.resources + 1 }));
    case "resource_updated":
      return withNews(state, event.server_id, (news) => ({
        ...news,
        updated: { ...news.updated, [event.uri]: (news.updated[event.uri] ?? 0) + 1 },
      }));
    case "settings_changed":
      return { ...state, settings: event.settings };
    case "question_asked":
      return { ...state, questions: replaceOrAppend(state.questions, event.question) };
    case "question_gone":
      return { ...state, questions: state.questions.filter((it) => it.id !== event.question_id) };
    case "notice_raised":
      return { ...state, notices: replaceOrAppend(state.notices, event.notice) };
    case "notice_cleared":
      return { ...state, notices: state.notices.filter((n) => n.id !== event.notice_id) };
    case "view_access_changed":
      return { ...state, access: { ...state.access, [event.view_id]: { wishes: event.wishes, startsAgain: event.starts_again } } };
    case "view_ended":
      return { ...state, ended: { ...state.ended, [event.view_id]: event.why } };
    case "view_message":
    case "window_closes":
      // A message for a View is handed to its frame by the store, and the end to the Views; neither is state.
      return state;
  }
}

/** Puts a whole conversation into the state, as `open_conversation` answered it. */
export function withConversation(state: AppState, view: ConversationView): AppState {
  const items = [...view.items].sort((a, b) => a.seq - b.seq);
  return {
    ...conversationChanged(state, view.summary),
    open: { ...state.open, [view.summary.id]: { ...view, items } },
  };
}

function withNews(state: AppState, id: string, change: (news: ServerNews) => ServerNews): AppState {
  return { ...state, news: { ...state.news, [id]: change(state.news[id] ?? NO_NEWS) } };
}

function inConversation(
  state: AppState,
  id: string,
  change: (conversation: ConversationView) => ConversationView,
): AppState {
  const conversation = state.open[id];
  // Nothing of a conversation that is not open is kept: opening it brings it whole.
  if (conversation === undefined) return state;
  return { ...state, open: { ...state.open, [id]: change(conversation) } };
}

function conversationChanged(state: AppState, summary: ConversationSummary): AppState {
  const conversations = newestFirst(replaceOrAppend(state.conversations, summary));
  return inConversation({ ...state, conversations }, summary.id, (c) => ({ ...c, summary }));
}

function conversationRemoved(state: AppState, id: string): AppState {
  const { [id]: _gone, ...open } = state.open;
  return { ...state, open, conversations: state.conversations.filter((c) => c.id !== id) };
}

function scriptOutput(state: AppState, runId: string, line: ScriptLine): AppState {
  const lines = [...(state.scripts[runId] ?? []), line].slice(-SCRIPT_LINES_KEPT);
  return { ...state, scripts: { ...state.scripts, [runId]: lines } };
}

function newestFirst(list: readonly ConversationSummary[]): ConversationSummary[] {
  return [...list].sort((a, b) => b.updated_ms - a.updated_ms);
}

function replaceOrAppend<T extends { id: string }>(list: readonly T[], one: T): T[] {
  const at = list.findIndex((other) => other.id === one.id);
  return at === -1 ? [...list, one] : list.with(at, one);
}

function placeItem(items: readonly Item[], item: Item): Item[] {
  const at = items.findLastIndex((other) => other.id === item.id);
  if (at !== -1 && items[at]?.seq === item.seq) return items.with(at, item);
  const others = at === -1 ? items : items.toSpliced(at, 1);
  const before = others.findLastIndex((other) => other.seq <= item.seq);
  return others.toSpliced(before + 1, 0, item);
}

/** Appends what is new of a piece: a conversation that was just read may hold some of it, or all, already. */
function appendText(items: Item[], id: string, offset: number, text: string): Item[] {
  const at = items.findLastIndex((item) => item.id === id);
  const item = items[at];
  if (item === undefined || item.kind.kind !== "assistant") return items;
  const fresh = text.slice(Math.max(0, item.kind.text.length - offset));
  return fresh === "" ? items : items.with(at, { ...item, kind: { ...item.kind, text: item.kind.text + fresh } });
}

function appendRows(ledger: LedgerRow[], rows: readonly LedgerRow[]): LedgerRow[] {
  const last = ledger.at(-1)?.seq ?? -1;
  const fresh = rows.filter((row) => row.seq > last);
  return fresh.length === 0 ? ledger : [...ledger, ...fresh];
}

/** Takes the rows of folded calls away and puts in the rows that stand for them. */
function foldRows(ledger: LedgerRow[], callIds: readonly string[], rows: readonly LedgerRow[]): LedgerRow[] {
  const gone = new Set(callIds);
  const replaced = new Set(rows.map((row) => row.seq));
  const left = ledger.filter((row) => !replaced.has(row.seq) && (row.call_id === null || !gone.has(row.call_id)));
  return [...left, ...rows].sort((a, b) => a.seq - b.seq);
}
