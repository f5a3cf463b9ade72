import { afterEach, expect, test, vi } from "vitest";
import { playable } from "./playable";

const create = vi.fn(() => "blob:one");
const revoke = vi.fn();
Object.assign(URL, { createObjectURL: create, revokeObjectURL: revoke });

afterEach(() => {
  vi.unstubAllGlobals();
  create.mockClear();
  revoke.mockClear();
});

test("media of the host is played from a blob, which goes with the player", async () => {
  const fetched = vi.fn(() => Promise.resolve(new Response("bytes")));
  vi.stubGlobal("fetch", fetched);
  const node = document.createElement("audio");
  const handle = playable(node, "usher-media://localhost/h/0");
  await vi.waitFor(() => expect(node.src).toBe("blob:one"));
  expect(fetched).toHaveBeenCalledWith("usher-media://localhost/h/0");
  if (handle) handle.destroy?.();
  expect(revoke).toHaveBeenCalledWith("blob:one");
});

test("what cannot be fetched is left to the player to report", async () => {
  vi.stubGlobal("fetch", vi.fn(() => Promise.resolve(new Response("", { status: 404 }))));
  const node = document.createElement("audio");
  playable(node, "usher-media://localhost/h/0");
  await vi.waitFor(() => expect(node.src).toBe("usher-media://localhost/h/0"));
  expect(create).not.toHaveBeenCalled();
});

test("a late answer does not replace a newer source", async () => {
  let answer: (response: Response) => void = () => undefined;
  vi.stubGlobal("fetch", vi.fn(() => new Promise<Response>((resolve) => (answer = resolve))));
  const node = document.createElement("audio");
  const handle = playable(node, "usher-media://localhost/h/0");
  if (handle) handle.update?.("data:audio/wav;base64,");
  answer(new Response("late"));
  await new Promise((resolve) => setTimeout(resolve));
  expect(node.src).toBe("data:audio/wav;base64,");
});
