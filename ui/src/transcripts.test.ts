import { describe, expect, it } from "vitest";
import type { ConversationView } from "./bindings/ConversationView";
import { crowd, type Member } from "./components/view/crowd";
import { Transcripts } from "./transcripts.svelte";

function stage() {
  const here = new Set(["a", "b", "c"]);
  const transcripts = new Transcripts((id) => (here.has(id) ? ({ summary: { id } } as ConversationView) : null));
  const list = () => transcripts.list.map((it) => it.summary.id);
  return { here, transcripts, list };
}

/** A View of a conversation that ends when the test says so. */
function view(conversationId: string) {
  let running = true;
  const waits: (() => void)[] = [];
  const member: Member = {
    conversationId,
    runs: () => running,
    mayRest: () => true,
    rest: () => new Promise((done) => waits.push(done)),
  };
  const gone = crowd.join(member);
  const end = async (): Promise<void> => {
    running = false;
    gone();
    for (const done of waits) done();
    await new Promise((done) => setTimeout(done));
  };
  return { waits, end };
}

describe("the transcripts in the page", () => {
  it("are the shown one alone when no View runs", () => {
    const { transcripts, list } = stage();
    transcripts.show("a");
    transcripts.show("b");
    expect(list()).toEqual(["b"]);
    transcripts.show(null);
    expect(list()).toEqual([]);
  });

  it("hold a left one where it is until its Views have ended, also when it is deleted", async () => {
    const { here, transcripts, list } = stage();
    transcripts.show("a");
    const one = view("a");
    transcripts.show("b");
    expect(list()).toEqual(["a", "b"]);
    expect(one.waits).toHaveLength(1);
    here.delete("a");
    transcripts.show("c");
    expect(list()).toEqual(["a", "c"]);
    await one.end();
    expect(list()).toEqual(["c"]);
  });

  it("keep one that is shown again before its Views had ended", async () => {
    const { transcripts, list } = stage();
    transcripts.show("a");
    const one = view("a");
    transcripts.show("b");
    transcripts.show("a");
    expect(list()).toEqual(["a"]);
    await one.end();
    expect(list()).toEqual(["a"]);
  });
});
