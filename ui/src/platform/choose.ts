import { insideDesktop, tauriPlatform } from "./tauri";
import type { Platform } from "./types";

/** The desktop when the page runs in it, otherwise the demonstration in memory. */
export async function choosePlatform(): Promise<Platform> {
  if (insideDesktop()) return tauriPlatform();
  const { fakePlatform } = await import("./fake");
  return fakePlatform();
}
