import type { ServerView } from "../../bindings/ServerView";

/** What a server's state looks like: the dot, the words at the right of its row, the whole sentence. */
export function serverLook(server: ServerView): { dot: "on" | "busy" | "bad" | "off"; short: string; text: string } {
  if (server.sign_in?.waiting === true) {
    return { dot: "busy", short: "sign in", text: "It waits until you have signed in." };
  }
  switch (server.state.kind) {
    case "off":
      return { dot: "off", short: "off", text: "It is off." };
    case "starting":
      return { dot: "busy", short: "starting", text: "It is starting." };
    case "ready": {
      const revision = server.revision ?? "unknown revision";
      return { dot: "on", short: revision, text: `It is ready and speaks ${revision}.` };
    }
    case "restarting":
      return { dot: "busy", short: "restarting", text: `It is restarting, attempt ${server.state.attempt}.` };
    case "failed":
      return { dot: "bad", short: "failed", text: server.state.what };
  }
}

/** The tools that were refused because they declare no variants (rule H09); an earlier revision would take them. */
export function refusedForVariants(server: ServerView): number {
  return server.rejected_tools.filter((tool) => tool.rule === "H09").length;
}

/** What is told of a thing, as a sentence of its own. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") return "";
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.!?…]$/.test(trimmed) ? "" : ".");
}
