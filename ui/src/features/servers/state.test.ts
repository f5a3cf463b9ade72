import { expect, it } from "vitest";
import { demoServers } from "../../platform/demo/servers";
import { refusedForVariants, sentence, serverLook } from "./state";

it("a server's state has a dot, a word and a sentence", () => {
  expect(demoServers().map(serverLook).map((l) => [l.dot, l.short])).toEqual([
    ["on", "2026-12-01"],
    ["on", "2025-11-25"],
    ["on", "2025-11-25"],
    ["bad", "failed"],
    ["off", "off"],
  ]);
  const waiting = { ...demoServers()[3]!, sign_in: { signed_in_at: null, waiting: true } };
  expect(serverLook(waiting)).toMatchObject({ dot: "busy", short: "sign in" });
});

it("the tools that an earlier revision would take are counted", () => {
  const server = demoServers()[0]!;
  expect(refusedForVariants(server)).toBe(0);
  const refused = (name: string, rule: string) => ({ name, rule, why: "" });
  expect(refusedForVariants({ ...server, rejected_tools: [refused("a", "H09"), refused("b", "H04"), refused("c", "H09")] })).toBe(2);
});

it("a remark is a sentence where it stands alone", () => {
  expect(["its envFile is not read", "Done. ", "why?", ""].map(sentence)).toEqual(["Its envFile is not read.", "Done.", "Why?", ""]);
});
