import { expect, it } from "vitest";
import { BridgeLog } from "./bridge-log";
import { progressOf } from "./progress";

it("names the first message that went wrong, and what a View owes that was answered", () => {
  const log = new BridgeLog(() => 0, () => undefined);
  const now = () => progressOf(log.list());
  log.says({ kind: "uncaught", text: "Error: the page's own", place: "" });
  log.add("in", "ui/initialize", 10);
  expect(now()).toEqual({ firstError: null, owes: null });
  log.add("out", "answer 1 to ui/initialize", 10, "appInfo is missing", { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "appInfo is missing" } });
  log.add("stopped", "message", 10, "not a JSON-RPC message");
  // An answer with an error is none.
  expect(now()).toEqual({ firstError: "answer 1 to ui/initialize: appInfo is missing", owes: null });
  log.add("out", "answer 2 to ui/initialize", 10, "", { jsonrpc: "2.0", id: 2, result: {} });
  expect(now().owes).toBe("It was answered ui/initialize; ui/notifications/initialized is missing.");
});
