/**
 * What a View is told about its surroundings. Only keys that the Apps extension lists are sent: one key more in
 * `styles.variables`, or a tool without an object schema, and Views of today refuse the whole handshake.
 */
import type { McpUiHostCapabilities, McpUiHostContext, McpUiStyleVariableKey } from "@modelcontextprotocol/ext-apps/app-bridge";
import { MODES, type Mode } from "./display.svelte";

/** Light or dark, as it is now. */
export type LiveTheme = "light" | "dark";

/** Reads a token of the window's style sheet, such as `--panel`. */
export type ReadToken = (token: string) => string;

/** The most height of a View in the transcript, in pixels. */
export const MOST_HEIGHT = 1200;

/** The official variables that follow the window's tokens. */
const TOKENS: Partial<Record<McpUiStyleVariableKey, string>> = {
  "--color-background-primary": "--panel",
  "--color-background-secondary": "--bg",
  "--color-background-tertiary": "--sunk",
  "--color-background-inverse": "--ink",
  "--color-text-primary": "--ink",
  "--color-text-secondary": "--mute",
  "--color-text-tertiary": "--faint",
  "--color-text-inverse": "--panel",
  "--color-text-ghost": "--ghost",
  "--color-text-disabled": "--ghost",
  "--color-text-info": "--focus",
  "--color-text-danger": "--bad",
  "--color-text-success": "--good",
  "--color-text-warning": "--warn",
  "--color-border-primary": "--line-strong",
  "--color-border-secondary": "--line",
  "--color-border-tertiary": "--line",
  "--color-border-inverse": "--ink",
  "--color-border-disabled": "--line",
  "--color-border-info": "--focus",
  "--color-border-danger": "--bad",
  "--color-border-success": "--good",
  "--color-border-warning": "--warn",
  "--color-ring-primary": "--focus",
  "--color-ring-secondary": "--line-strong",
  "--color-ring-inverse": "--panel",
  "--color-ring-info": "--focus",
  "--color-ring-danger": "--bad",
  "--color-ring-success": "--good",
  "--color-ring-warning": "--warn",
  "--font-sans": "--font",
  "--font-mono": "--mono",
  "--shadow-sm": "--shadow-card",
  "--shadow-md": "--shadow-card",
  "--shadow-lg": "--shadow-pop",
};

/** The backgrounds that are a tint of a colour. */
const TINTS: Partial<Record<McpUiStyleVariableKey, string>> = {
  "--color-background-info": "--focus",
  "--color-background-danger": "--bad",
  "--color-background-success": "--good",
  "--color-background-warning": "--warn",
  "--color-background-disabled": "--ghost",
};

/** The official variables that are the same in both themes. */
const FIXED: Partial<Record<McpUiStyleVariableKey, string>> = {
  "--color-background-ghost": "transparent",
  "--color-border-ghost": "transparent",
  "--font-weight-normal": "400",
  "--font-weight-medium": "500",
  "--font-weight-semibold": "600",
  "--font-weight-bold": "700",
  "--font-text-xs-size": "11px",
  "--font-text-sm-size": "12px",
  "--font-text-md-size": "13px",
  "--font-text-lg-size": "15px",
  "--font-text-xs-line-height": "16px",
  "--font-text-sm-line-height": "18px",
  "--font-text-md-line-height": "20px",
  "--font-text-lg-line-height": "24px",
  "--font-heading-xs-size": "12px",
  "--font-heading-sm-size": "13px",
  "--font-heading-md-size": "15px",
  "--font-heading-lg-size": "18px",
  "--font-heading-xl-size": "22px",
  "--font-heading-2xl-size": "26px",
  "--font-heading-3xl-size": "32px",
  "--font-heading-xs-line-height": "16px",
  "--font-heading-sm-line-height": "20px",
  "--font-heading-md-line-height": "24px",
  "--font-heading-lg-line-height": "26px",
  "--font-heading-xl-line-height": "30px",
  "--font-heading-2xl-line-height": "34px",
  "--font-heading-3xl-line-height": "40px",
  "--border-radius-xs": "3px",
  "--border-radius-sm": "5px",
  "--border-radius-md": "6px",
  "--border-radius-lg": "10px",
  "--border-radius-xl": "12px",
  "--border-radius-full": "9999px",
  "--border-width-regular": "1px",
};

/** The window's look as the official variables. */
export function styleVariables(read: ReadToken): Record<string, string> {
  const variables: Record<string, string> = { ...FIXED };
  for (const [key, token] of Object.entries(TOKENS)) {
    const value = read(token).trim();
    if (value !== "") variables[key] = value;
  }
  for (const [key, token] of Object.entries(TINTS)) {
    const value = read(token).trim();
    if (value !== "") variables[key] = `color-mix(in srgb, ${value} 12%, transparent)`;
  }
  const line = read("--line").trim();
  if (line !== "") variables["--shadow-hairline"] = `0 0 0 1px ${line}`;
  return variables;
}

/** Where a View is shown, and how large its frame is, in pixels. */
export interface Place {
  mode: Mode;
  width: number;
  height: number;
}

/** What stands around a View. */
export interface Surroundings {
  theme: LiveTheme;
  read: ReadToken;
  place: Place;
  locale: string;
  timeZone: string;
  touch: boolean;
  hover: boolean;
  /** The application's version. */
  version: string;
  /** The tool as Rust projected it for the View. */
  toolJson: string;
}

/** The context of a View. */
export function hostContext(around: Surroundings): McpUiHostContext {
  const tool = toolOf(around.toolJson);
  return {
    ...(tool === null ? {} : { toolInfo: { tool } }),
    theme: around.theme,
    styles: { variables: styleVariables(around.read) as NonNullable<NonNullable<McpUiHostContext["styles"]>["variables"]> },
    displayMode: around.place.mode,
    availableDisplayModes: [...MODES],
    containerDimensions: dimensions(around.place),
    locale: knownLocale(around.locale),
    timeZone: around.timeZone,
    userAgent: `usher/${around.version}`,
    platform: "desktop",
    deviceCapabilities: { touch: around.touch, hover: around.hover },
    // A window has no notch, and nothing of it lies over the frame.
    safeAreaInsets: { top: 0, right: 0, bottom: 0, left: 0 },
  };
}

/** In the conversation the width is the transcript's and the height follows the View; elsewhere both are the box's. */
function dimensions({ mode, width, height }: Place): NonNullable<McpUiHostContext["containerDimensions"]> {
  if (mode === "inline") return { width: Math.round(width), maxHeight: MOST_HEIGHT };
  return { width: Math.round(width), height: Math.round(height) };
}

/**
 * What a View may ask for: exactly what Rust answers. `sandboxJson` says what the sandbox was really granted, `canSample` whether
 * the user lets its server ask the model, and `takesPictures` whether the model that is chosen takes any.
 */
export function hostCapabilities(sandboxJson: string, canSample: boolean, takesPictures: boolean): McpUiHostCapabilities {
  const sandbox = objectOf(sandboxJson);
  // Of resources the text crosses and not the bytes, which a View learns from the answer.
  const said = { text: {}, ...(takesPictures ? { image: {} } : {}), resource: {}, resourceLink: {} };
  return {
    openLinks: {},
    downloadFile: {},
    serverTools: { listChanged: true },
    serverResources: { listChanged: true },
    logging: {},
    message: said,
    updateModelContext: { ...said, structuredContent: {} },
    ...(canSample ? { sampling: {} } : {}),
    ...(sandbox === null ? {} : { sandbox: sandbox as NonNullable<McpUiHostCapabilities["sandbox"]> }),
  };
}

type Tool = NonNullable<McpUiHostContext["toolInfo"]>["tool"];

function toolOf(json: string): Tool | null {
  const tool = objectOf(json);
  const schema = tool?.["inputSchema"];
  // Without an object schema every View refuses the handshake, so such a tool is left out.
  const fits = typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object";
  return tool !== null && fits ? (tool as unknown as Tool) : null;
}

function objectOf(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * A locale that every View can format with: some systems call theirs "C", which is none (BCP 47) and makes `toLocaleString` throw.
 */
export function knownLocale(locale: string): string {
  try {
    return Intl.getCanonicalLocales(locale)[0] ?? "en";
  } catch {
    return "en";
  }
}
