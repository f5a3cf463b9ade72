/** Which tool an author most likely wants to answer next from the fixture. */
import type { BridgeEntry } from "../../components/view/bridge-log";

/** The tool that the View called last, as it named it; `null` when it called none. */
export function calledLast(entries: readonly BridgeEntry[]): string | null {
  const value = entries.findLast((it) => it.direction === "in" && it.method === "tools/call")?.value ?? "null";
  try {
    const message = JSON.parse(value) as { params?: { name?: unknown } } | null;
    const name = message?.params?.name;
    return typeof name === "string" ? name : null;
  } catch {
    // A long value is cut when it is kept, and is no JSON then.
    return null;
  }
}
