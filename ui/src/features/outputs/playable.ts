import type { Action } from "svelte/action";

/** The scheme under which the host serves media. */
const MEDIA = /^(usher-media:|https?:\/\/usher-media\.localhost\/)/;

/**
 * Gives a player its source. WebKitGTK shows pictures from the host's scheme but plays only what comes from http or a blob,
 * so sound and film are fetched into a blob, which is let go with the player.
 */
export const playable: Action<HTMLMediaElement, string> = (node, url) => {
  let wanted = "";
  let blob: string | null = null;

  function release(): void {
    if (blob !== null) URL.revokeObjectURL(blob);
    blob = null;
  }

  async function load(address: string): Promise<void> {
    wanted = address;
    release();
    if (!MEDIA.test(address)) {
      node.src = address;
      return;
    }
    try {
      const response = await fetch(address);
      if (!response.ok) throw new Error(`status ${response.status}`);
      const bytes = await response.blob();
      if (wanted !== address) return;
      blob = URL.createObjectURL(bytes);
      node.src = blob;
    } catch {
      // The player then says itself that it cannot play this.
      if (wanted === address) node.src = address;
    }
  }

  void load(url);
  return {
    update: (next) => void (next !== wanted && load(next)),
    destroy: () => {
      wanted = "";
      release();
    },
  };
};
