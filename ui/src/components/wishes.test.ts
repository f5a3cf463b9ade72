import { expect, it } from "vitest";
import type { WishView } from "../bindings/WishView";
import { counted } from "./wishes";

it("counts domains and features, a domain once however often it is wished for", () => {
  const of = (kind: WishView["kind"], what: string) => ({ wish: { kind, what } });
  const api = [of("connect", "https://api.example.com"), of("resource", "https://api.example.com")];
  const features = [of("permission", "camera"), of("permission", "microphone")];
  expect([counted([]), counted(api), counted([...api, of("frame", "https://b.example")]), counted(features), counted([...api, features[0]!])]).toEqual([
    "", "1 domain", "2 domains", "2 features", "1 domain, 1 feature",
  ]);
});
