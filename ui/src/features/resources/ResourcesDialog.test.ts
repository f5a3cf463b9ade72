import { render, screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import ResourcesStage from "./ResourcesStage.test.svelte";

async function stage(serverId: string) {
  const platform = fakePlatform({ now: () => 1_800_000_000_000, stepMs: 1 });
  const answer = platform.rpc.bind(platform);
  const rpc = vi.spyOn(platform, "rpc");
  const store = new Store(platform);
  await store.start();
  await store.openConversation("c2");
  store.browse = { serverId, uri: null };
  render(ResourcesStage, { store });
  const asked = (cmd: string) => rpc.mock.calls.filter(([name]) => name === cmd).map(([, payload]) => payload);
  return { platform, store, rpc, answer, asked };
}

describe("the resources of a server", () => {
  it("are listed and filtered, and none is read before it is opened", async () => {
    const { asked } = await stage("sample");
    expect(await screen.findAllByTestId("resource-row")).toHaveLength(2);
    await userEvent.type(screen.getByTestId("resource-filter"), "sunrise");
    expect(screen.getAllByTestId("resource-row").map((row) => row.dataset.uri)).toEqual(["sample://art/sunrise.png"]);
    expect(asked("read_server_resource")).toEqual([]);
  });

  it("go to the model only when they are attached", async () => {
    const { asked } = await stage("sample");
    await userEvent.click((await screen.findAllByTestId("resource-row"))[0] as HTMLElement);
    expect((await screen.findByTestId("blocks-probe")).textContent).toContain("EMEA,12");
    expect(asked("attach_resource")).toEqual([]);
    await userEvent.click(screen.getByTestId("resource-attach"));
    await screen.findByTestId("resource-attached");
    expect(asked("attach_resource")).toHaveLength(1);
    await userEvent.click(screen.getByTestId("resource-back"));
    // What was attached is part of the conversation and is not forgotten.
    expect(asked("discard_fetched")).toEqual([]);
  });

  it("that were only looked at are forgotten", async () => {
    const { asked } = await stage("sample");
    await userEvent.click((await screen.findAllByTestId("resource-row"))[0] as HTMLElement);
    await userEvent.click(await screen.findByTestId("resource-back"));
    expect(asked("discard_fetched")).toHaveLength(1);
  });

  /** Holds back the answers to readings until they are let go, in any order. */
  function holdBack({ rpc, answer }: Awaited<ReturnType<typeof stage>>) {
    const held: (() => void)[] = [];
    rpc.mockImplementation(async (cmd, payload) => {
      const read = await answer(cmd, payload);
      if (cmd === "read_server_resource") await new Promise<void>((resolve) => held.push(resolve));
      return read;
    });
    return held;
  }

  it("that come after the dialog was closed are forgotten", async () => {
    const staged = await stage("sample");
    const held = holdBack(staged);
    await userEvent.click((await screen.findAllByTestId("resource-row"))[0] as HTMLElement);
    await waitFor(() => expect(held).toHaveLength(1));
    await userEvent.click(screen.getByLabelText("Close"));
    await waitFor(() => expect(screen.queryByTestId("resources")).toBeNull());
    held[0]?.();
    await waitFor(() => expect(staged.asked("discard_fetched")).toHaveLength(1));
  });

  it("are shown in the order in which they were asked for, however they come", async () => {
    const staged = await stage("sample");
    const held = holdBack(staged);
    const rows = await screen.findAllByTestId("resource-row");
    await userEvent.click(rows[0] as HTMLElement);
    await userEvent.click(rows[1] as HTMLElement);
    await waitFor(() => expect(held).toHaveLength(2));
    held[1]?.();
    const content = await screen.findByTestId("resource-content");
    held[0]?.();
    await waitFor(() => expect(staged.asked("discard_fetched")).toHaveLength(1));
    expect(content.isConnected).toBe(true);
    expect(screen.getByTestId("resources").textContent).toContain("sample://art/sunrise.png");
  });

  it("say to a link of theirs whether it was read", async () => {
    const { rpc, answer } = await stage("sample");
    await userEvent.click((await screen.findAllByTestId("resource-row"))[0] as HTMLElement);
    const link = await screen.findByTestId("link-probe");
    rpc.mockImplementation((cmd, payload) =>
      cmd === "read_server_resource" ? Promise.reject({ what: "It is not there.", safe: "Nothing changed.", todo: "Ask its author." }) : answer(cmd, payload),
    );
    await userEvent.click(link);
    expect((await screen.findByRole("alert")).textContent).toContain("It is not there.");
    await waitFor(() => expect(link.textContent).toBe("false"));
  });

  it("say when they changed since they were read", async () => {
    const { platform, asked } = await stage("sample");
    await userEvent.click((await screen.findAllByTestId("resource-row"))[0] as HTMLElement);
    await userEvent.click(await screen.findByTestId("resource-subscribe"));
    expect(asked("subscribe_resource")).toEqual([{ server_id: "sample", uri: "sample://reports/regions.csv", wanted: true }]);
    expect(screen.queryByTestId("resource-changed")).toBeNull();
    platform.world.emit({ type: "resource_updated", server_id: "sample", uri: "sample://reports/regions.csv" });
    await screen.findByTestId("resource-changed");
    await userEvent.click(screen.getByTestId("resource-read"));
    await waitFor(() => expect(screen.queryByTestId("resource-changed")).toBeNull());
  });

  it("are listed again when the server says that they are others", async () => {
    const { platform, asked } = await stage("sample");
    await screen.findAllByTestId("resource-row");
    platform.world.emit({ type: "resources_changed", server_id: "sample" });
    await waitFor(() => expect(asked("list_resources")).toHaveLength(2));
  });

  it("are read from a template once it is filled in", async () => {
    const { asked } = await stage("sample");
    await userEvent.click(await screen.findByTestId("template-row"));
    await userEvent.type(screen.getByTestId("template-variable-id"), "12{Enter}");
    await screen.findByTestId("resource-content");
    expect(asked("read_resource_template")).toEqual([
      { server_id: "sample", template: "sample://customers/{id}", values: [["id", "12"]] },
    ]);
  });

  it("are none where the server has none, and an error says why", async () => {
    const { rpc } = await stage("filesystem");
    expect((await screen.findByText("This server has no resources")).textContent).toBeTruthy();
    expect(rpc).toHaveBeenCalled();
  });
});
