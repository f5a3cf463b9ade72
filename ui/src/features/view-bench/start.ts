/** What `usher view` asked for, taken over when the window starts. */
import type { Store } from "../../state/store.svelte";
import { benchOf } from "./bench.svelte";

/** Puts on the bench what the window was opened for. Answers whether it was opened for that. */
export async function startBench(store: Store): Promise<boolean> {
  const start = await store.ask("bench_start", {});
  if (start === null) return false;
  const bench = benchOf(store);
  bench.take(start.server_id, start.form, start.place ?? "");
  bench.watched = { [start.server_id]: start.watched };
  bench.runs = true;
  return true;
}
