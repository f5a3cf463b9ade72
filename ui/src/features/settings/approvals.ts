import type { ServerView } from "../../bindings/ServerView";

/** An approval that stands, as it can be revoked. */
export interface StandingApproval {
  key: string;
  server_id: string;
  /** `null` for all of a server's tools. */
  tool: string | null;
  name: string;
  text: string;
}

/** The approvals that outlast a call, one row for each thing that can be revoked. */
export function standingApprovals(servers: readonly ServerView[]): StandingApproval[] {
  const rows: StandingApproval[] = [];
  for (const server of servers) {
    if (server.tools.some((t) => t.approval === "allow_server")) {
      rows.push({ key: server.id, server_id: server.id, tool: null, name: server.name, text: "every tool may run" });
    }
    for (const tool of server.tools) {
      if (tool.approval !== "allow_tool" && tool.approval !== "never") continue;
      rows.push({
        key: `${server.id}/${tool.name}`,
        server_id: server.id,
        tool: tool.name,
        name: tool.name,
        text: `of ${server.name} ${tool.approval === "never" ? "never runs" : "may run"}`,
      });
    }
  }
  return rows;
}
