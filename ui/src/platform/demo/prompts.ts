import type { FetchedView } from "../../bindings/FetchedView";
import type { PromptListView } from "../../bindings/PromptListView";
import type { ResourceListView } from "../../bindings/ResourceListView";

/** The prompts of the demonstration. */
export function demoPrompts(): PromptListView {
  const of = { server_id: "sample", server_name: "Sample" };
  return {
    prompts: [
      {
        ...of,
        name: "account_review",
        title: "Review an account",
        description: "Looks at a customer's revenue and last activity.",
        arguments: [
          { name: "customer", title: "Customer", description: "Whose account.", required: true },
          { name: "tone", title: null, description: null, required: false },
        ],
      },
      { ...of, name: "weekly_report", title: null, description: "What happened this week.", arguments: [] },
    ],
    failed: [],
  };
}

/** A prompt as it was fetched. */
export function demoFetchedPrompt(id: string, name: string, values: readonly [string, string][]): FetchedView {
  const text = `Review this: ${name} ${values.map(([key, value]) => `${key}=${value}`).join(", ")}`.trim();
  return {
    fetched_id: id,
    server_id: "sample",
    server_name: "Sample",
    name,
    description: null,
    messages: [{ by_assistant: false, handle: id, blocks: [{ kind: "text", text }] }],
    bytes: text.length,
  };
}

/** The resources of the demonstration. */
export function demoResources(): ResourceListView {
  return {
    resources: [
      { uri: "sample://reports/regions.csv", name: "Customers by region", description: null, mime: "text/csv", size: 214, subscribed: false },
      { uri: "sample://art/sunrise.png", name: "Sunrise", description: "A picture.", mime: "image/png", size: null, subscribed: false },
    ],
    templates: [
      { template: "sample://customers/{id}", name: "A customer", description: "One record.", mime: "application/json", variables: ["id"] },
    ],
    can_subscribe: true,
  };
}

/** A resource as it was read. */
export function demoFetchedResource(id: string, uri: string): FetchedView {
  const text = "region,customers\nEMEA,12\n";
  return {
    fetched_id: id,
    server_id: "sample",
    server_name: "Sample",
    name: uri,
    description: null,
    messages: [{ by_assistant: false, handle: id, blocks: [{ kind: "resource_text", uri, mime: "text/csv", text }] }],
    bytes: text.length,
  };
}
