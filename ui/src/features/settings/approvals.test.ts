import { expect, it } from "vitest";
import { demoServers } from "../../platform/demo/servers";
import { standingApprovals } from "./approvals";

it("each approval that stands is one row that can be revoked", () => {
  expect(standingApprovals(demoServers()).map((a) => [a.server_id, a.tool, a.name, a.text])).toEqual([
    ["sample", null, "Sample", "every tool may run"],
    ["sample", "search_customers", "search_customers", "of Sample may run"],
    ["filesystem", "write_file", "write_file", "of filesystem never runs"],
  ]);
});
