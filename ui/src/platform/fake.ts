import type { ApiError } from "../bindings/ApiError";
import type { BodySpan } from "../bindings/BodySpan";
import type { ConversationView } from "../bindings/ConversationView";
import type { FetchedView } from "../bindings/FetchedView";
import type { SelectionPreview } from "../bindings/SelectionPreview";
import type { ViewAnswers } from "../bindings/ViewAnswers";
import type { WishView } from "../bindings/WishView";
import type { ServerTrustView } from "../bindings/ServerTrustView";
import type { ServerView } from "../bindings/ServerView";
import type { Settings } from "../bindings/Settings";
import type { Snapshot } from "../bindings/Snapshot";
import type { ToolView } from "../bindings/ToolView";
import type { UiBatch } from "../bindings/UiBatch";
import type { UiEvent } from "../bindings/UiEvent";
import type { WireLine } from "../bindings/WireLine";
import { ACCOUNT_COLUMNS, ASSISTANT_TEXT, demoConversations, demoExchange, globexAccounts } from "./demo/conversation";
import { demoBench } from "./demo/bench";
import { demoContract } from "./demo/contract";
import { demoExport, demoForm, demoImported, demoReview, demoServer, demoTest } from "./demo/server-forms";
import { demoFetchedPrompt, demoFetchedResource, demoPrompts, demoResources } from "./demo/prompts";
import { demoModels, demoServers } from "./demo/servers";
import { DemoTurn } from "./demo/turn";
import { byteLength, children, tableWindow, toJson, type Value } from "./demo/values";
import type { AnswerOf, CommandName, PayloadOf, Platform } from "./types";

/** What the demonstration holds, so that its turns can write into it. */
export interface World {
  servers: ServerView[];
  conversations: Map<string, ConversationView>;
  /** Sends events to the window, as the host would. */
  emit(...events: UiEvent[]): void;
  /** A number that no other call of this function gives. */
  fresh(): number;
  now(): number;
}

type Handlers = {
  [K in CommandName]: (payload: PayloadOf<K>) => AnswerOf<K> | Promise<AnswerOf<K>>;
};

export interface FakeOptions {
  /** Whether the tour is offered. */
  firstRun?: boolean;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** How long a step of a demonstrated answer takes, in milliseconds. */
  stepMs?: number;
}

/**
 * A demonstration in memory, without a server or a model. It exists for a browser and for
 * tests: what it answers is believable, not true. It keeps nothing.
 */
export function fakePlatform(options: FakeOptions = {}): Platform & { world: World } {
  const now = options.now ?? (() => Date.now());
  let seq = 0;
  let count = 100;
  let listener: ((batch: UiBatch) => void) | null = null;
  let settings: Settings = {
    theme: "system",
    omit_fallback_selection: false,
    decline_schemaless: false,
    tour_done: options.firstRun !== true,
  };
  let models = demoModels();
  const world: World = {
    servers: demoServers(),
    conversations: new Map(demoConversations(now()).map((c) => [c.summary.id, c])),
    emit(...events) {
      const batch = { first_seq: seq, events };
      seq += events.length;
      listener?.(batch);
    },
    fresh: () => (count += 1),
    now,
  };
  const turns = new DemoTurn(world, options.stepMs ?? 60);

  const find = (id: string): ConversationView => {
    const found = world.conversations.get(id);
    if (found === undefined) throw refusal("That conversation is not there any more.", "Choose another one.");
    return found;
  };
  const findServer = (id: string): ServerView => {
    const found = world.servers.find((s) => s.id === id);
    if (found === undefined) throw refusal("That server is not there any more.", "Choose another one.");
    return found;
  };
  const put = (server: ServerView): void => {
    world.servers = [...world.servers.filter((s) => s.id !== server.id), server];
    world.emit({ type: "server_changed", server });
  };
  const changeServer = (id: string, change: (s: ServerView) => ServerView): null => {
    world.servers = world.servers.map((s) => (s.id === id ? change(s) : s));
    const server = world.servers.find((s) => s.id === id);
    if (server !== undefined) world.emit({ type: "server_changed", server });
    return null;
  };
  const changeTool = (serverId: string, tool: string | null, change: (t: ToolView) => ToolView): null =>
    changeServer(serverId, (s) => ({
      ...s,
      tools: s.tools.map((t) => (tool === null || t.name === tool ? change(t) : t)),
    }));

  const trust = new Map<string, ServerTrustView>();
  const answers = new Map<string, ViewAnswers>();
  const fetched = new Map<string, FetchedView>();
  const shelve = (view: FetchedView): FetchedView => {
    fetched.set(view.fetched_id, view);
    return view;
  };
  /** Puts what was fetched into a conversation, as the host would. */
  const bring = (conversationId: string, id: string, prompt: boolean): null => {
    const view = fetched.get(id);
    if (view === undefined) throw refusal("That prompt or resource is not there any more.", "Choose it again.");
    fetched.delete(id);
    const { name, server_id, server_name, messages, bytes } = view;
    turns.addItem(conversationId, { kind: "brought", prompt, name, server_id, server_name, arguments: [], messages, bytes });
    return null;
  };

  const handlers: Handlers = {
    search: ({ query }) => found([...world.conversations.values()], query),
    create_conversation({ mode, model_id }) {
      const id = `c${world.fresh()}`;
      const summary = {
        id,
        title: "New conversation",
        updated_ms: now(),
        message_count: 0,
        mode: mode ?? "chat",
        model_id: model_id ?? "demo",
        by_command: false,
        busy: false,
      } as const;
      world.conversations.set(id, {
        summary,
        items: [],
        turn: { kind: "idle" },
        ledger: [],
        exchanges: [],
        repairs: [],
        custom: [],
      });
      world.emit({ type: "conversation_changed", summary });
      return summary;
    },
    open_conversation: ({ conversation_id }) => find(conversation_id),
    rename_conversation({ conversation_id, title }) {
      const c = find(conversation_id);
      turns.put(conversation_id, { summary: { ...c.summary, title } });
      return null;
    },
    delete_conversation({ conversation_id }) {
      turns.stop(conversation_id);
      world.conversations.delete(conversation_id);
      world.emit({ type: "conversation_removed", conversation_id });
      return null;
    },
    configure_conversation({ conversation_id, mode, model_id, custom }) {
      const c = find(conversation_id);
      const summary = {
        ...c.summary,
        mode: mode ?? c.summary.mode,
        model_id: model_id ?? c.summary.model_id,
      };
      turns.put(conversation_id, { summary, custom: custom ?? c.custom });
      return summary;
    },
    send_message({ conversation_id, text }) {
      find(conversation_id);
      turns.send(conversation_id, text);
      return null;
    },
    stop_turn({ conversation_id }) {
      turns.stop(conversation_id);
      return null;
    },
    retry_turn({ conversation_id }) {
      turns.answer(conversation_id, "Again, from the start: 37 Globex records match.");
      return null;
    },
    answer_approval({ call_id, choice }) {
      turns.approve(call_id, choice);
      return null;
    },
    call_tool({ conversation_id, tool }) {
      turns.callTool(conversation_id, tool);
      return null;
    },
    answer_question({ question_id }) {
      world.emit({ type: "question_gone", question_id });
      return null;
    },
    cancel_call({ call_id }) {
      turns.cancel(call_id);
      return null;
    },
    preview_selection({ conversation_id }) {
      const c = find(conversation_id);
      return world.servers
        .filter((s) => s.state.kind === "ready")
        .flatMap((s) => s.tools.map((t) => preview(s, t, c)));
    },
    show_the_model({ conversation_id }) {
      turns.addItem(conversation_id, {
        kind: "door",
        text: "You showed the model the table of search_customers.",
        chip: { audience: "user", format: "structured", color: "user" },
        bytes: 6100,
        is_message: false,
        words: null,
        pictures: null,
      });
      return null;
    },
    take_back({ conversation_id, item_id }) {
      turns.removeItem(conversation_id, item_id);
      return null;
    },
    list_prompts: () => demoPrompts(),
    complete_prompt_argument: ({ typed }) => suggest(["Globex", "Globe Trotters", "Initech"], typed),
    use_prompt: ({ prompt, arguments: values }) => shelve(demoFetchedPrompt(`f${world.fresh()}`, prompt, values)),
    send_prompt({ conversation_id, fetched_id }) {
      bring(conversation_id, fetched_id, true);
      turns.answer(conversation_id, "Globex is in good health.");
      return null;
    },
    discard_fetched({ fetched_id }) {
      fetched.delete(fetched_id);
      return null;
    },
    list_resources: ({ server_id }) =>
      server_id === "sample" ? demoResources() : { resources: [], templates: [], can_subscribe: false },
    complete_resource_variable: ({ typed }) => suggest(["1", "12", "2"], typed),
    read_server_resource: ({ uri }) => shelve(demoFetchedResource(`f${world.fresh()}`, uri)),
    read_resource_template: ({ template, values }) =>
      shelve(demoFetchedResource(`f${world.fresh()}`, values.reduce((uri, [name, value]) => uri.replace(`{${name}}`, value), template))),
    attach_resource: ({ conversation_id, fetched_id }) => bring(conversation_id, fetched_id, false),
    subscribe_resource: () => null,
    server_form: ({ server_id }) => demoForm(findServer(server_id)),
    save_server({ server_id, form }) {
      const id = server_id ?? `s${world.fresh()}`;
      const before = world.servers.find((s) => s.id === id);
      put(demoServer(id, form, before, before?.enabled ?? true));
      return id;
    },
    test_server: ({ form }) => demoTest(form),
    pin_revision: ({ server_id, revision }) =>
      changeServer(server_id, (s) => ({
        ...s,
        pinned_revision: revision,
        revision: revision ?? s.revision,
        offers_earlier: null,
        rejected_tools: s.rejected_tools.filter((t) => t.rule !== "H09"),
      })),
    sign_in: ({ server_id }) => changeServer(server_id, (s) => ({ ...s, sign_in: { signed_in_at: null, waiting: true } })),
    sign_out: ({ server_id }) => changeServer(server_id, (s) => ({ ...s, sign_in: { signed_in_at: null, waiting: false } })),
    known_configurations: () => [
      { program: "Claude Desktop", path: "~/.config/Claude/claude_desktop_config.json", servers: 4, problem: null },
      { program: "Cursor", path: "~/.cursor/mcp.json", servers: 0, problem: "it is not JSON: expected a comma in line 7" },
    ],
    review_configuration({ source }) {
      if (source.kind === "text" && !source.text.includes("{")) {
        throw refusal("This is no list of servers: it is not JSON.", "Paste the whole file, from the first brace to the last.");
      }
      return demoReview(source, world.servers.map((s) => s.name));
    },
    import_servers({ source, chosen }) {
      const servers = demoImported(demoReview(source, []), chosen, () => `s${world.fresh()}`);
      servers.forEach(put);
      return servers.map((s) => s.id);
    },
    export_servers: () => ({
      text: demoExport(world.servers),
      remarks: ["github: GITHUB_TOKEN is a secret; the file has ${env:GITHUB_TOKEN} in its place."],
    }),
    save_servers_export: () => ({ path: "~/Downloads/mcp-servers.json", bytes: byteLength(demoExport(world.servers)) }),
    remove_server({ server_id }) {
      world.servers = world.servers.filter((s) => s.id !== server_id);
      world.emit({ type: "server_removed", server_id });
      return null;
    },
    enable_server: ({ server_id, enabled }) =>
      changeServer(server_id, (s) => ({ ...s, enabled, state: { kind: enabled ? "ready" : "off" } })),
    restart_server: ({ server_id }) =>
      changeServer(server_id, (s) => ({ ...s, state: { kind: "restarting", attempt: 1 } })),
    wire_lines: ({ server_id, after_seq, limit }) =>
      demoWire(now())
        .filter((l) => (server_id === null || l.server_id === server_id) && l.seq > after_seq)
        .slice(0, limit),
    revoke_approval: ({ server_id, tool }) => changeTool(server_id, tool, (t) => ({ ...t, approval: "ask" })),
    server_trust: ({ server_id }) => trust.get(server_id) ?? { asks_model: false, roots: [], log_level: null },
    set_server_trust({ server_id, trust: next }) {
      const wrong = next.roots.find((path) => !path.startsWith("/"));
      if (wrong !== undefined) throw refusal(`"${wrong}" is not a whole path.`, "Write the path from its root on.");
      trust.set(server_id, next);
      return null;
    },
    set_legacy_policy: ({ server_id, tool, policy }) =>
      changeTool(server_id, tool, (t) => ({ ...t, legacy_policy: policy })),
    save_model({ model_id, provider, base_url, name, key, context_tokens, takes_images }) {
      const id = model_id ?? `m${world.fresh()}`;
      const model = {
        id,
        name,
        provider,
        is_demo: false,
        context_tokens,
        takes_images,
        base_url,
        has_key: key !== null && key !== "",
      };
      models = [...models.filter((m) => m.id !== id), model];
      world.emit({ type: "models_changed", models });
      return model;
    },
    remove_model({ model_id }) {
      models = models.filter((m) => m.id !== model_id);
      world.emit({ type: "models_changed", models });
      return null;
    },
    test_provider: ({ base_url }) =>
      base_url.includes("127.0.0.1") || base_url.includes("localhost")
        ? { ok: true, what: "The endpoint answered and lists 2 models.", todo: "", models: ["llama3.2", "qwen3"] }
        : { ok: false, what: "Nothing answered at this address.", todo: "Check the address and that the server runs.", models: [] },
    find_local_models: () => [
      { name: "Ollama", base_url: "http://127.0.0.1:11434/v1", models: ["llama3.2", "qwen3"] },
    ],
    save_settings(payload) {
      settings = payload.settings;
      world.emit({ type: "settings_changed", settings });
      return null;
    },
    table_window: (q) => tableWindow(payload(q.handle), ACCOUNT_COLUMNS, q),
    json_children: (q) => children(payload(q.handle), q.pointer, q.offset, q.limit),
    payload_text({ handle, limit }) {
      const text = payloadText(handle);
      return {
        total_bytes: byteLength(text),
        text: text.slice(0, limit),
        whole: text.length <= limit,
        label: "An output of search_customers, kept as the server sent it.",
      };
    },
    save_output: ({ handle, format }) => ({
      path: `~/Downloads/output.${format}`,
      bytes: byteLength(payloadText(handle)),
    }),
    copy_output: ({ handle }) => payloadText(handle),
    read_resource: () => null,
    open_link: () => null,
    exchange_body: ({ exchange_id }) => demoBody(exchange_id, world),
    ...demoContract(world),
    run_script({ source }) {
      const run_id = `run-${world.fresh()}`;
      setTimeout(() => {
        world.emit(
          { type: "script_output", run_id, line: { kind: "call", call_id: "call-7", text: "tools.sample.search_customers" } },
          { type: "script_output", run_id, line: { kind: "log", level: "log", text: `${source.length} characters ran` } },
          { type: "script_output", run_id, line: { kind: "returned", json: '{"accounts":37}' } },
        );
      }, 300);
      return run_id;
    },
    stop_script({ run_id }) {
      world.emit({ type: "script_output", run_id, line: { kind: "stopped", why: "You stopped it." } });
      return null;
    },
    script_types: () =>
      "declare const tools: {\n  sample: {\n    /** Finds customer accounts by name. */\n    search_customers(args: { query: string }): Promise<{ customers: { account: string; region: string }[] }>;\n  };\n};\n",
    open_view: ({ call_id }) => {
      throw refusal(`The View of ${call_id} cannot run in the demonstration.`, "Open it in the desktop application.");
    },
    view_request: () => ({ kind: "error", code: -32601, message: "The demonstration has no Views.", from_server: false }),
    cancel_view_request: () => null,
    set_view_tools: () => ({ tools: [], left_out: [] }),
    answer_view_call: () => null,
    call_bench_tool: () => ({ kind: "error", code: -32601, message: "The demonstration has no Views.", from_server: false }),
    close_view: () => null,
    look_at_conversation: () => null,
    view_answers: ({ server_id }) => answers.get(server_id) ?? { allowed: [], refused: [] },
    set_view_access({ server_id, wishes, allowed }) {
      const before = answers.get(server_id) ?? { allowed: [], refused: [] };
      const others = (all: WishView[]) => all.filter((it) => !wishes.some((one) => one.kind === it.kind && one.what === it.what));
      const kept = { allowed: others(before.allowed), refused: others(before.refused) };
      kept[allowed ? "allowed" : "refused"].push(...wishes);
      answers.set(server_id, kept);
      return null;
    },
    forget_view_answers({ server_id }) {
      answers.delete(server_id);
      return null;
    },
    refused_targets: () => [],
    ...demoBench(world),
  };

  return {
    world,
    async rpc(cmd, payload) {
      return await handlers[cmd](payload);
    },
    async subscribe(_since, onBatch) {
      listener = onBatch;
      const snapshot: Snapshot = {
        next_seq: seq,
        version: "0.1.0",
        data_dir: "~/.local/share/usher",
        first_run: options.firstRun === true,
        servers: world.servers,
        conversations: [...world.conversations.values()].map((c) => c.summary),
        models,
        settings,
        notices: [],
        questions: [],
      };
      return snapshot;
    },
  };
}

function suggest(all: readonly string[], typed: string): AnswerOf<"complete_prompt_argument"> {
  return { values: all.filter((one) => one.toLowerCase().startsWith(typed.toLowerCase())), has_more: false };
}

function refusal(what: string, todo: string): ApiError {
  return { what, safe: "Nothing was changed.", todo };
}

/** Every word of the query, written anywhere in a message, with a little of what stands around the first one. */
function found(conversations: readonly ConversationView[], query: string): AnswerOf<"search"> {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [];
  return conversations.flatMap(({ summary, items }) =>
    items.flatMap(({ id, kind }) => {
      const text = kind.kind === "user" || kind.kind === "assistant" ? kind.text : "";
      const places = words.map((word) => text.toLowerCase().indexOf(word));
      if (places.includes(-1)) return [];
      const at = Math.min(...places);
      const snippet = text.slice(Math.max(0, at - 24), at + 60);
      return [{ conversation_id: summary.id, title: summary.title, item_id: id, snippet }];
    }),
  );
}

function payload(_handle: string): Value {
  return globexAccounts();
}

function payloadText(handle: string): string {
  return handle.endsWith("-model") ? ASSISTANT_TEXT : toJson(globexAccounts());
}

function preview(server: ServerView, tool: ToolView, conversation: ConversationView): SelectionPreview {
  const declared = tool.variants.map((v) => v.chip);
  const custom = conversation.custom.find((c) => c.server_id === server.id && c.tool === tool.name);
  const { mode } = conversation.summary;
  const wanted = declared.filter((chip) => {
    const selector = `${chip.audience}/${chip.format}`;
    switch (mode) {
      case "chat":
        return selector === "assistant/content" || chip.audience === "user" || chip.color === "view";
      case "data":
        return selector === "assistant/structured" || chip.audience === "user";
      case "code":
        return selector === "programmatic/structured";
      case "present":
        return chip.audience === "user";
      case "app":
        return selector === "assistant/content" || chip.color === "view";
      case "custom":
        return custom?.selectors.includes(selector) ?? selector === "assistant/content";
    }
  });
  return {
    server_id: server.id,
    tool: tool.name,
    legacy: tool.legacy,
    requested: wanted,
    reasons: tool.legacy
      ? [{ rule: null, text: "The server speaks an earlier revision, so nothing is asked for and local policy decides." }]
      : wanted.map((chip) => ({ rule: "H12", text: `${chip.audience}/${chip.format}: mode ${mode} listens for it.` })),
    declared,
  };
}

function demoBody(exchangeId: string, world: World): AnswerOf<"exchange_body"> {
  const exchange =
    [...world.conversations.values()].flatMap((c) => c.exchanges).find((x) => x.id === exchangeId) ??
    demoExchange(exchangeId, world.now());
  const parts: [string, Omit<BodySpan, "start" | "end">][] = [
    ['{"model":"llama3.2","stream":true,"messages":[', { source: "envelope", label: "envelope", item_id: null }],
    ['{"role":"system","content":"You answer with the help of tools."},', { source: "host", label: "instructions", item_id: null }],
    ['{"role":"user","content":"Which Globex accounts were active this week?"},', { source: "messages", label: "your message", item_id: "i1" }],
    [`{"role":"tool","tool_call_id":"call-7","content":${JSON.stringify(ASSISTANT_TEXT)}}`, { source: "results", label: "search_customers, call 7, assistant / content", item_id: "i2" }],
    ['],"tools":[', { source: "envelope", label: "envelope", item_id: null }],
    ['{"type":"function","function":{"name":"search_customers","parameters":{"type":"object"}}}', { source: "tools", label: "search_customers", item_id: null }],
    ["]}", { source: "envelope", label: "envelope", item_id: null }],
  ];
  let body = "";
  const spans = parts.map(([text, span]) => {
    const start = body.length;
    body += text;
    return { start, end: body.length, ...span };
  });
  return { exchange, body, spans, headers: [["content-type", "application/json"]] };
}

function demoWire(now: number): WireLine[] {
  const lines: [WireLine["channel"], string, string][] = [
    ["to_server", "initialize", '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-12-01"}}'],
    ["from_server", "result of initialize", '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2026-12-01"}}'],
    ["stderr", "stderr", "sample: ready on stdio"],
    ["to_server", "tools/call", '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_customers","requestedOutputs":[{"audience":"assistant","format":"content"},{"audience":"user","format":"structured"}]}}'],
    ["from_server", "result of tools/call", `{"jsonrpc":"2.0","id":2,"result":{"outputs":[{"audience":"user","format":"structured","structuredContent":${toJson(globexAccounts())}}]}}`],
    ["noise", "not a message", "DEBUG cache warm"],
  ];
  return lines.map(([channel, title, text], i) => ({
    seq: i + 1,
    at_ms: now - 60_000 + i * 40,
    server_id: "sample",
    channel,
    title,
    text,
    bytes: byteLength(text),
  }));
}

