/** What one page leaves to the next comes back as it was, and nothing else is taken for it. */
import { beforeEach, expect, it } from "vitest";
import { keep, kept } from "./kept";

beforeEach(() => sessionStorage.clear());

it("gives back what was kept, and nothing where nothing was", () => {
  expect(kept()).toEqual({ conversation: null, drafts: {} });
  const now = { conversation: "c1", drafts: { c1: "half a sen", c2: "" } };
  keep(now);
  expect(kept()).toEqual(now);
});

it("takes nothing that has another shape", () => {
  for (const text of ["{", "null", "[]", '{"conversation":7,"drafts":{"c1":7}}']) {
    sessionStorage.setItem("usher.page", text);
    expect(kept()).toEqual({ conversation: null, drafts: {} });
  }
});
