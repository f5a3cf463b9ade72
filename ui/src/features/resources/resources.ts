/** The list of a server's resources: what matches, and which have changed since they were looked at. */
import type { ResourceTemplateView } from "../../bindings/ResourceTemplateView";
import type { ResourceView } from "../../bindings/ResourceView";

/** The most that are drawn at once; the rest is found by its name. */
export const DRAWN = 200;

/** The resources or templates whose words hold what was typed. */
export function matching<T extends ResourceView | ResourceTemplateView>(all: readonly T[], typed: string): readonly T[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return all;
  return all.filter((one) => {
    const address = "uri" in one ? one.uri : one.template;
    return [one.name, address, one.description ?? ""].some((text) => text.toLowerCase().includes(wanted));
  });
}

/** Whether a server has said that a resource changed since it was read here. */
export function isNews(uri: string, updated: Readonly<Record<string, number>>, seen: Readonly<Record<string, number>>): boolean {
  return (updated[uri] ?? 0) > (seen[uri] ?? 0);
}
