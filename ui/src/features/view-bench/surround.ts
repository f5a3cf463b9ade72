/**
 * What surrounds a View on the bench: what the window says, less what the author chose otherwise.
 * Deliberately absent: the look of a theme, which is the style sheet's.
 */
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import type { BenchContext } from "../../bindings/BenchContext";
import { knownLocale, MOST_HEIGHT } from "../../components/view/host-context";

/** The sizes that are asked for most. */
export interface Device {
  id: string;
  title: string;
  width: number | null;
  height: number | null;
  touch: boolean;
  safeArea: [number, number, number, number] | null;
}

export const DEVICES: readonly Device[] = [
  { id: "none", title: "As wide as there is room", width: null, height: null, touch: false, safeArea: null },
  { id: "transcript", title: "Conversation, 580", width: 580, height: null, touch: false, safeArea: null },
  { id: "phone", title: "Phone, 390 × 844", width: 390, height: 844, touch: true, safeArea: [47, 0, 34, 0] },
  { id: "phone-wide", title: "Phone on its side, 844 × 390", width: 844, height: 390, touch: true, safeArea: [0, 47, 21, 47] },
  { id: "small", title: "Small phone, 360 × 640", width: 360, height: 640, touch: true, safeArea: null },
  { id: "tablet", title: "Tablet, 820 × 1180", width: 820, height: 1180, touch: true, safeArea: [24, 0, 20, 0] },
  { id: "desktop", title: "Desktop, 1280 × 800", width: 1280, height: 800, touch: false, safeArea: null },
];

/** The device that a choice of sizes is; `custom` when it is none. */
export function deviceOf(context: BenchContext): string {
  const same = (device: Device): boolean =>
    device.width === context.width &&
    device.height === context.height &&
    device.touch === context.touch &&
    JSON.stringify(device.safeArea) === JSON.stringify(context.safe_area);
  return DEVICES.find(same)?.id ?? "custom";
}

export const MODES = ["inline", "fullscreen", "pip"] as const;

/** The context that a View is told, for a frame of these pixels. */
export function surrounded(base: McpUiHostContext, chosen: BenchContext, width: number, height: number): McpUiHostContext {
  const mode = MODES.find((it) => it === chosen.display_mode) ?? "inline";
  const round = { width: Math.round(width) };
  const fixed = chosen.height !== null || mode !== "inline";
  const [top, right, bottom, left] = chosen.safe_area ?? [0, 0, 0, 0];
  return {
    ...base,
    theme: chosen.theme === "dark" || chosen.theme === "light" ? chosen.theme : base.theme,
    displayMode: mode,
    availableDisplayModes: [...MODES],
    containerDimensions: fixed ? { ...round, height: Math.round(height) } : { ...round, maxHeight: MOST_HEIGHT },
    locale: chosen.locale === null ? base.locale : knownLocale(chosen.locale),
    timeZone: chosen.time_zone !== null && isTimeZone(chosen.time_zone) ? chosen.time_zone : base.timeZone,
    deviceCapabilities: chosen.touch ? { touch: true, hover: false } : base.deviceCapabilities,
    safeAreaInsets: { top, right, bottom, left },
  } as McpUiHostContext;
}

/** Whether a name is one that a View can format with. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Whether a tag is a locale. */
export function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
