import type { ConversationSummary } from "../../bindings/ConversationSummary";
import type { ConversationView } from "../../bindings/ConversationView";
import type { ExchangeView } from "../../bindings/ExchangeView";
import type { Item } from "../../bindings/Item";
import type { ItemKind } from "../../bindings/ItemKind";
import type { LedgerRow } from "../../bindings/LedgerRow";
import type { ToolCallView } from "../../bindings/ToolCallView";
import { CHIP } from "./servers";
import { byteLength, Exact, toJson, type Value } from "./values";

const NAMES = ["Retail", "Energy", "Labs", "Freight", "Health", "Marine", "Foods", "Rail", "Media", "Mining"];
const REGIONS = ["NA", "EMEA", "APAC"];

/** The value that the table of the demonstration shows. */
export function globexAccounts(): Value {
  return {
    customers: Array.from({ length: 37 }, (_, i): Value => ({
      account: `Globex ${NAMES[i % NAMES.length]}${i < NAMES.length ? "" : ` ${Math.floor(i / NAMES.length) + 1}`}`,
      region: REGIONS[(i * 5) % 3] ?? "NA",
      customer_id: new Exact((9007199254740993n + BigInt(i * 295)).toString()),
      last_activity: i === 0 ? "2 hours ago" : i < 3 ? "yesterday" : `${i} days ago`,
      contacts: [{ name: "Ada Park", mail: `ada.park@globex-${i}.example` }],
    })),
  };
}

export const ACCOUNT_COLUMNS = [
  { key: "account", title: "Account", numeric: false },
  { key: "region", title: "Region", numeric: false },
  { key: "customer_id", title: "Customer id", numeric: true },
  { key: "last_activity", title: "Last activity", numeric: false },
  { key: "contacts", title: "Contacts", numeric: false },
];

export const ASSISTANT_TEXT =
  "37 Globex records match. Most recently active: Globex Retail, Globex Energy, Globex Labs. The full list is shown to the user.";

/** A call with everything that a call needs, changed where the caller says so. */
export function demoCall(number: number, tool: string, more: Partial<ToolCallView> = {}): ToolCallView {
  return {
    call_id: `call-${number}`,
    number,
    server_id: "sample",
    server_name: "Sample",
    tool,
    of_view: null,
    title: null,
    arguments_json: "{}",
    origin: "model",
    state: { kind: "done" },
    mode: "chat",
    revision: "2026-12-01",
    requested: [CHIP.assistant, CHIP.user],
    deliveries: [],
    withheld: [],
    defects: [],
    shown: [],
    view: null,
    elapsed_ms: null,
    ...more,
  };
}

/** A search that went to the model and the user, and brought something nobody asked for. */
export function searchCall(number: number): ToolCallView {
  const bytes = byteLength(toJson(globexAccounts()));
  return demoCall(number, "search_customers", {
    title: "Search customers",
    arguments_json: '{"query":"Globex","active_within_days":7}',
    elapsed_ms: 84,
    deliveries: [
      {
        consumer: "model",
        chip: CHIP.assistant,
        what: "assistant/content",
        bytes: byteLength(ASSISTANT_TEXT),
        handle: `h-${number}-model`,
        door: "contract",
        verdict: null,
        how: "one text block",
      },
      {
        consumer: "user",
        chip: CHIP.user,
        what: "user/structured",
        bytes,
        handle: `h-${number}-user`,
        door: "contract",
        verdict: { kind: "fits" },
        how: "as a table, 37 rows",
      },
    ],
    withheld: [
      {
        chip: CHIP.programmatic,
        what: "programmatic/structured",
        bytes: 2211,
        rule: "H19",
        why: "It was not asked for.",
        handle: `h-${number}-withheld`,
      },
    ],
    defects: [{ rule: "H19", text: "The server sent programmatic/structured, which was not asked for." }],
    shown: [{ kind: "table", handle: `h-${number}-user`, columns: ACCOUNT_COLUMNS, rows: 37, bytes }],
  });
}

/** The facts that the routing of such a search leaves. */
export function searchLedger(call: ToolCallView, firstSeq: number, at: number): LedgerRow[] {
  const row = (i: number, ms: number, more: Partial<LedgerRow> & Pick<LedgerRow, "icon" | "text">): LedgerRow => ({
    seq: firstSeq + i,
    at_ms: at + ms,
    call_id: call.call_id,
    detail: "",
    rule: null,
    color: null,
    reasons: [],
    handle: null,
    reads: null,
    ...more,
  });
  return [
    row(0, 0, {
      icon: "asked",
      text: "asked for 2 of 4 variants: mode Chat, table renderer present",
      detail: "why",
      reasons: [
        "assistant/content: mode Chat speaks to the model in text (H12).",
        "user/structured: the tool declares it and a table can show it (H14).",
        "programmatic/structured: no script made this call (H15).",
      ],
    }),
    row(1, 71, { icon: "came", text: "3 outputs came", detail: "8.5 kB" }),
    row(2, 72, { icon: "defect", text: "programmatic was not asked for: withheld", detail: "H19", rule: "H19", handle: `h-${call.number}-withheld` }),
    row(3, 73, { icon: "fits", text: "user / structured fits its schema", detail: "37 rows", color: "user" }),
    row(4, 74, { icon: "delivered", text: "to the transcript, as a table", detail: "6.1 kB", color: "user", handle: `h-${call.number}-user` }),
    row(5, 74, { icon: "delivered", text: "to the model, one text block", detail: "124 B", color: "assistant", handle: `h-${call.number}-model` }),
  ];
}

export function demoExchange(id: string, at: number): ExchangeView {
  return {
    id,
    at_ms: at,
    model: "llama3.2",
    url: "http://127.0.0.1:11434/v1/chat/completions",
    bytes: 9420,
    sha256: "5f0c8d2b7a3e91c4d6f1b0a9e8c7d6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d9",
    attempts: 1,
    outcome: "200, 61 tokens",
    tokens: 3100,
    context_tokens: 8192,
    share: [
      { source: "host", label: "system", bytes: 2100 },
      { source: "tools", label: "11 tools", bytes: 3400 },
      { source: "messages", label: "messages", bytes: 2900 },
      { source: "results", label: "results", bytes: 1020 },
    ],
    kept_out_bytes: 41_700,
    asked_by: null,
  };
}

export function item(id: string, seq: number, at: number, kind: ItemKind): Item {
  return { id, seq, at_ms: at, kind };
}

/** The conversations that the list begins with. */
export function demoConversations(now: number): ConversationView[] {
  const day = 86_400_000;
  const titles: [string, number][] = [
    ["Globex accounts", 0],
    ["Sunrise pictures", 3_600_000],
    ["Deployment check", 7_200_000],
    ["Budget for Q1", 2 * day],
    ["Wiki links", 3 * day],
  ];
  return titles.map(([title, ago], i) => {
    const summary: ConversationSummary = {
      id: `c${i + 1}`,
      title,
      updated_ms: now - ago,
      message_count: i === 0 ? 12 : 4,
      mode: "chat",
      model_id: "llama",
      by_command: false,
      busy: i === 0,
    };
    const view: ConversationView = {
      summary,
      items: [],
      turn: { kind: "idle" },
      ledger: [],
      exchanges: [],
      repairs: [],
      custom: [],
    };
    return i === 0 ? globexConversation(view, now) : otherConversation(view, now - ago);
  });
}

function globexConversation(view: ConversationView, now: number): ConversationView {
  const start = now - 60_000;
  const search = searchCall(7);
  const refresh = demoCall(8, "refresh_dashboard", {
    requested: [CHIP.assistant, CHIP.view],
    state: { kind: "running", progress: { done: 40, total: 100, message: "reading deployments" } },
    deliveries: [
      { consumer: "view", chip: CHIP.view, what: "io.modelcontextprotocol/ui/structured", bytes: 18_400, handle: "h-8-view", door: "contract", verdict: { kind: "fits" }, how: "to its View" },
    ],
  });
  return {
    ...view,
    turn: { kind: "tools", running: 1 },
    items: [
      item("i1", 1, start, { kind: "user", text: "Which Globex accounts were active this week?" }),
      item("i2", 2, start + 900, { kind: "tool_call", call: search }),
      item("i3", 3, start + 2000, {
        kind: "assistant",
        text: "37 Globex records match. The three most recently active are **Globex Retail**, **Globex Energy** and **Globex Labs**; the full list is in the table above.",
        state: { kind: "done" },
        model: "llama3.2",
        usage: { prompt_tokens: 3100, answer_tokens: 61 },
      }),
      item("i4", 4, start + 3000, { kind: "tool_call", call: refresh }),
    ],
    ledger: searchLedger(search, 1, start + 900),
    exchanges: [demoExchange("x1", start + 1900)],
  };
}

const WIKI = `## Pages that link here

The page [Audience routing](https://wiki.example/audience-routing?from=usher) is linked from three others:

| Page | Links | Changed |
|---|--:|---|
| Home | 12 | today |
| Glossary | 4 | last week |
| *Archive* | 1 | \`2024-02-11\` |

1. Home should point to the **new** page.
2. Glossary:
   - keep \`programmatic\`
   - drop the rest

> A picture in an answer is not loaded: ![pixel](https://tracker.example/p.png)
`;

function otherConversation(view: ConversationView, at: number): ConversationView {
  return {
    ...view,
    items: [
      item(`${view.summary.id}-1`, 1, at, { kind: "user", text: `Help me with: ${view.summary.title}.` }),
      item(`${view.summary.id}-2`, 2, at + 800, {
        kind: "assistant",
        text: view.summary.title === "Wiki links" ? WIKI : "Gladly. Which server should I look in?\n\n```js\nawait tools.sample.search_customers({ query: \"Globex\" });\n```",
        state: { kind: "done" },
        model: "llama3.2",
        usage: { prompt_tokens: 900, answer_tokens: 18 },
      }),
    ],
  };
}
