import { describe, expect, it } from "vitest";
import { demoReview } from "../../platform/demo/server-forms";
import { freeName } from "./form";
import { choices, firstPicks, importLabel, inputProblems, nameProblems, neededInputs, saidInputs } from "./import";

const review = demoReview({ kind: "text", text: "{}" }, ["filesystem"]);

describe("a list of servers", () => {
  it("starts nothing by itself, and takes what has a free name", () => {
    const picks = firstPicks(review);
    expect(choices(review, picks)).toEqual([
      { key: "weather", name: "weather", enabled: false },
      { key: "tracker", name: "tracker", enabled: false },
      { key: "old", name: "old", enabled: false },
    ]);
    expect(importLabel(review, picks)).toBe("Import 3 servers");
    picks["old"]!.start = true;
    expect(importLabel(review, picks)).toBe("Import 3 servers and start 1");
    picks["tracker"]!.take = picks["weather"]!.take = false;
    expect(importLabel(review, picks)).toBe("Import 1 server and start it");
    picks["old"]!.take = false;
    expect(importLabel(review, picks)).toBe("Import");
  });

  it("names each collision, with a server that is here and within the list", () => {
    const picks = firstPicks(review);
    picks["filesystem"]!.take = true;
    picks["old"]!.name = "weather ";
    picks["tracker"]!.name = " ";
    expect(nameProblems(review, picks, ["filesystem"])).toEqual({
      filesystem: "A server of this name is here. Choose another name.",
      tracker: "It needs a name.",
      old: "Another of the list has this name.",
    });
    expect(freeName("filesystem", ["filesystem", "filesystem 2"])).toBe("filesystem 3");
  });

  it("asks only for what chosen servers need, and insists where one starts", () => {
    const picks = firstPicks(review);
    expect(neededInputs(review, picks).map((it) => it.id)).toEqual(["weather-key"]);
    expect(inputProblems(review, picks, {})).toEqual({});
    picks["weather"]!.start = true;
    expect(inputProblems(review, picks, {})).toEqual({ "weather-key": "weather cannot start without it." });
    expect(saidInputs(review, picks, { "weather-key": "k", other: "x" })).toEqual([["weather-key", "k"]]);
    picks["weather"]!.take = false;
    expect(neededInputs(review, picks)).toEqual([]);
    expect(saidInputs(review, picks, { "weather-key": "k" })).toEqual([]);
  });
});
