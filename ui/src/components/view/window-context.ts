/**
 * The context of a View in this window: the look of the style sheet, and what the system says of its user.
 * Deliberately absent: which keys a View is told, which `host-context` knows.
 */
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { around } from "./around.svelte";
import { hostContext, type LiveTheme, type Place } from "./host-context";

/** What only the caller knows. */
export interface Shown {
  /** Where the tokens of the look are read. */
  look: Element;
  theme: LiveTheme;
  place: Place;
  /** The application's version; unknown while the window starts. */
  version: string | undefined;
  /** The tool as Rust projected it for the View. */
  toolJson: string;
}

/** Gathers the surroundings of a View as they are now. */
export function windowContext({ look, theme, place, version, toolJson }: Shown): McpUiHostContext {
  const style = getComputedStyle(look);
  return hostContext({
    theme,
    read: (token) => style.getPropertyValue(token),
    place,
    locale: around.locale,
    timeZone: around.timeZone,
    touch: around.touch,
    hover: around.hover,
    version: version ?? "0",
    toolJson,
  });
}
