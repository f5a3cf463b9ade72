import { expect, it } from "vitest";
import { Asked } from "./asked";

it("names an answer by what was asked, once, and forgets the oldest of many", () => {
  const asked = new Asked();
  asked.note(1, "tools/call");
  asked.note("1", "resources/read");
  expect([asked.answered("1"), asked.answered(1), asked.answered(1), asked.answered(undefined)]).toEqual(["answer 1 to resources/read", "answer 1 to tools/call", "answer 1", "answer"]);
  for (let id = 0; id < 201; id += 1) asked.note(id, "ping");
  expect([asked.answered(0), asked.answered(1), asked.answered(200)]).toEqual(["answer 0", "answer 1 to ping", "answer 200 to ping"]);
});

it("keeps no name and no number of any length", () => {
  const asked = new Asked();
  asked.note(7, "x".repeat(1_000_000));
  asked.note("y".repeat(1_000_000), "tools/call");
  expect([asked.answered(7).length, asked.answered("y".repeat(1_000_000))]).toEqual(["answer 7 to ".length + 200, `answer ${"y".repeat(200)}`]);
});
