import type { AudienceChip } from "../../bindings/AudienceChip";
import type { ModelView } from "../../bindings/ModelView";
import type { ServerView } from "../../bindings/ServerView";
import type { ToolView } from "../../bindings/ToolView";

export const CHIP = {
  assistant: { audience: "assistant", format: "content", color: "assistant" },
  assistantData: { audience: "assistant", format: "structured", color: "assistant" },
  user: { audience: "user", format: "structured", color: "user" },
  userContent: { audience: "user", format: "content", color: "user" },
  programmatic: { audience: "programmatic", format: "structured", color: "programmatic" },
  view: { audience: "io.modelcontextprotocol/ui", format: "structured", color: "view" },
} as const satisfies Record<string, AudienceChip>;

function tool(name: string, more: Partial<ToolView>): ToolView {
  return {
    name,
    title: null,
    description: null,
    read_only: true,
    destructive: false,
    visible_to_model: true,
    visible_to_view: true,
    has_view: false,
    variants: [],
    legacy: false,
    defects: [],
    input_schema_json: '{"type":"object","properties":{"query":{"type":"string"}}}',
    approval: "ask",
    legacy_policy: "content_first",
    ...more,
  };
}

function server(id: string, name: string, more: Partial<ServerView>): ServerView {
  return {
    id,
    name,
    launch: "stdio",
    command: `${name}-mcp`,
    enabled: true,
    state: { kind: "ready" },
    revision: "2025-11-25",
    pinned_revision: null,
    offers_earlier: null,
    sign_in: null,
    server_info: null,
    negotiation: [],
    tools: [],
    rejected_tools: [],
    stderr_tail: [],
    noise_lines: 0,
    ...more,
  };
}

export function demoServers(): ServerView[] {
  const schema = (chip: AudienceChip) => ({ chip, has_schema: true });
  return [
    server("sample", "Sample", {
      command: "usher sample-server",
      revision: "2026-12-01",
      server_info: "usher-sample 0.1.0",
      negotiation: [
        "initialize asked for 2026-12-01",
        "the server answered 2026-12-01",
        "extension io.modelcontextprotocol/ui agreed",
      ],
      stderr_tail: ["sample: ready on stdio", "sample: search_customers took 69 ms"],
      tools: [
        tool("search_customers", {
          title: "Search customers",
          description: "Finds customer accounts by name.",
          approval: "allow_tool",
          variants: [
            { chip: CHIP.assistant, has_schema: false },
            schema(CHIP.assistantData),
            schema(CHIP.user),
            schema(CHIP.programmatic),
          ],
        }),
        tool("refresh_dashboard", {
          title: "Refresh the dashboard",
          description: "Reads the deployment numbers again and draws them.",
          has_view: true,
          approval: "allow_server",
          variants: [{ chip: CHIP.assistant, has_schema: false }, schema(CHIP.view)],
        }),
        tool("delete_account", {
          title: "Delete an account",
          description: "Deletes one customer account for good.",
          read_only: false,
          destructive: true,
          variants: [{ chip: CHIP.assistant, has_schema: false }],
        }),
        tool("render_chart", {
          variants: [{ chip: CHIP.assistant, has_schema: false }, { chip: CHIP.userContent, has_schema: false }],
          defects: [{ rule: "S07", text: "The user/content variant declares an outputSchema, which has no meaning there." }],
        }),
      ],
      rejected_tools: [
        { name: "broken_variants", rule: "H04", why: "Two variants name the same audience and format." },
      ],
    }),
    server("filesystem", "filesystem", {
      command: "npx -y @modelcontextprotocol/server-filesystem ~/Documents",
      tools: [
        tool("read_file", { legacy: true }),
        tool("list_directory", { legacy: true }),
        tool("write_file", { legacy: true, read_only: false, approval: "never" }),
      ],
    }),
    server("budget", "budget", {
      launch: "http",
      command: "https://budget.example/mcp",
      sign_in: { signed_in_at: "https://login.example", waiting: false },
      tools: [tool("list_budgets", { legacy: true, legacy_policy: "structured_first" })],
      noise_lines: 3,
      stderr_tail: ["[budget] listening", "[budget] 3 accounts loaded"],
    }),
    server("github", "github", {
      revision: null,
      state: {
        kind: "failed",
        what: "The server ended before it answered: GITHUB_TOKEN is not set.",
        todo: "Add GITHUB_TOKEN to its environment, then restart it.",
      },
      stderr_tail: ["error: GITHUB_TOKEN is not set"],
    }),
    server("postgres", "postgres", { enabled: false, revision: null, state: { kind: "off" } }),
  ];
}

export function demoModels(): ModelView[] {
  return [
    {
      id: "demo",
      name: "Demo",
      provider: "Usher",
      is_demo: true,
      context_tokens: 8192,
      takes_images: false,
      base_url: "",
      has_key: false,
    },
    {
      id: "llama",
      name: "llama3.2",
      provider: "Ollama",
      is_demo: false,
      context_tokens: 8192,
      takes_images: false,
      base_url: "http://127.0.0.1:11434/v1",
      has_key: false,
    },
  ];
}
