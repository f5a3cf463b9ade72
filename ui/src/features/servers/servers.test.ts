import { render, screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { demoServers } from "../../platform/demo/servers";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import Stage from "./ServersStage.test.svelte";

vi.setConfig({ testTimeout: 60_000 });

async function stage() {
  const platform = fakePlatform({ stepMs: 1 });
  const store = new Store(platform);
  await store.start();
  const real = store.rpc.bind(store);
  const rpc = vi.spyOn(store, "rpc");
  render(Stage, { store });
  const asked = (command: string) => rpc.mock.calls.filter((it) => it[0] === command).map((it) => it[1]);
  return { platform, store, rpc, real, asked };
}

const field = (name: string | RegExp) => screen.getByRole<HTMLInputElement>("textbox", { name });

describe("adding a server", () => {
  it("takes a pasted line apart, shows what runs, and sends a secret once", async () => {
    const { asked } = await stage();
    await userEvent.click(screen.getByTestId("add-server"));
    const command = await screen.findByRole("textbox", { name: "Command" });
    expect(document.activeElement).toBe(command);
    await userEvent.paste("API_KEY=hush npx -y @scope/server-notes '~/My Notes'");
    expect(field("Command").value).toBe("npx");
    expect(field(/^Arguments/).value).toBe("-y\n@scope/server-notes\n~/My Notes");
    const runs = screen.getByTestId("what-runs");
    expect(runs.textContent).toContain('npx -y @scope/server-notes "~/My Notes"');
    expect(runs.textContent).toContain("API_KEY=••••");
    expect(screen.getByTestId("server-form").textContent).not.toContain("hush");
    await userEvent.click(screen.getByTestId("server-save"));
    await waitFor(() => expect(screen.queryByTestId("server-form")).toBeNull());
    expect(asked("save_server")).toEqual([
      {
        server_id: null,
        form: {
          name: "notes",
          pinned_revision: null,
          launch: { kind: "stdio", command: "npx", args: ["-y", "@scope/server-notes", "~/My Notes"], env: [{ name: "API_KEY", value: "hush", secret: true }], cwd: null },
        },
      },
    ]);
    expect(screen.getByText("notes")).toBeTruthy();
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("add-server")));
  });

  it("says what is wrong at its field and goes there, and undoes a split", async () => {
    const { asked } = await stage();
    await userEvent.click(screen.getByTestId("add-server"));
    await screen.findByTestId("server-form");
    await userEvent.click(screen.getByTestId("server-save"));
    expect(document.activeElement).toBe(field("Command"));
    expect(screen.getAllByRole("alert").map((it) => it.textContent)).toContain("What shall run? A program's name or its path.");
    await userEvent.type(field("Command"), "my tool");
    await userEvent.tab();
    expect(field(/^Arguments/).value).toBe("tool");
    await userEvent.click(screen.getByRole("button", { name: "Undo" }));
    expect(field("Command").value).toBe("my tool");
    expect(asked("save_server")).toEqual([]);
  });

  it("tests an address without saving it, and tells that the form changed since", async () => {
    const { asked } = await stage();
    await userEvent.click(screen.getByTestId("add-server"));
    await userEvent.click(await screen.findByTestId("kind-http"));
    await userEvent.type(field("Address"), "http://127.0.0.1:9/mcp");
    await userEvent.click(screen.getByTestId("server-test"));
    const result = await screen.findByTestId("test-result");
    expect(result.dataset["ok"]).toBe("true");
    expect(result.textContent).toContain("speaks 2025-11-25 · 3 tools");
    expect(screen.queryByText("You have changed the form since.")).toBeNull();
    await userEvent.type(field("Address"), "/broken");
    expect(screen.getByText("You have changed the form since.")).toBeTruthy();
    await userEvent.click(screen.getByTestId("server-test"));
    await waitFor(() => expect(screen.getByTestId("test-result").dataset["ok"]).toBe("false"));
    expect(screen.getByTestId("test-result").textContent).toContain("cannot find module 'broken'");
    expect(asked("save_server")).toEqual([]);
    expect(asked("test_server")).toHaveLength(2);
  });

  it("can stop waiting for a test, whose answer is then nobody's", async () => {
    const { rpc } = await stage();
    let answer: (value: never) => void = () => {};
    await userEvent.click(screen.getByTestId("add-server"));
    await userEvent.type(await screen.findByRole("textbox", { name: "Command" }), "slow");
    rpc.mockImplementationOnce(() => new Promise((done) => (answer = done)));
    await userEvent.click(screen.getByTestId("server-test"));
    await userEvent.click(within(await screen.findByTestId("test-running")).getByRole("button", { name: "Do not wait" }));
    answer({ ok: true, what: "late", safe: "", todo: "", revision: null, server_info: null, tools: 0, steps: [], stderr_tail: [] } as never);
    await waitFor(() => expect(screen.queryByTestId("test-running")).toBeNull());
    expect(screen.queryByTestId("test-result")).toBeNull();
  });

  it("splits a typed line also when it is saved with one click", async () => {
    const { asked } = await stage();
    await userEvent.click(screen.getByTestId("add-server"));
    await userEvent.type(await screen.findByRole("textbox", { name: "Command" }), "uvx mcp-server-time --utc");
    await userEvent.click(screen.getByTestId("server-save"));
    await waitFor(() => expect(screen.queryByTestId("server-form")).toBeNull());
    expect(asked("save_server")).toMatchObject([{ form: { name: "time", launch: { command: "uvx", args: ["mcp-server-time", "--utc"] } } }]);
  });

  it("asks before it throws away what was typed", async () => {
    await stage();
    await userEvent.click(screen.getByTestId("add-server"));
    await userEvent.type(await screen.findByRole("textbox", { name: "Command" }), "run");
    await userEvent.keyboard("{Escape}");
    expect(screen.getByText("What you typed is not saved.")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Go on" }));
    expect(field("Command").value).toBe("run");
    await userEvent.keyboard("{Escape}");
    await userEvent.click(screen.getByRole("button", { name: "Discard it" }));
    await waitFor(() => expect(screen.queryByTestId("server-form")).toBeNull());
  });

  it("offers to import a list that was pasted where a command belongs", async () => {
    await stage();
    await userEvent.click(screen.getByTestId("add-server"));
    await screen.findByTestId("server-form");
    await userEvent.paste('{"mcpServers": {}}');
    await userEvent.click(screen.getByRole("button", { name: "Review and import it" }));
    expect(await screen.findAllByTestId("import-entry")).toHaveLength(4);
  });
});

describe("a server that is there", () => {
  it("is edited without its secret, which stays as it is", async () => {
    const { asked } = await stage();
    await userEvent.click(screen.getByText("github"));
    await userEvent.click(await screen.findByTestId("server-edit"));
    const value = await screen.findByLabelText<HTMLInputElement>("Value of GITHUB_TOKEN");
    expect([value.value, value.placeholder]).toEqual(["", "kept; type to replace it"]);
    await userEvent.click(screen.getByTestId("server-save"));
    expect(asked("save_server")).toMatchObject([{ server_id: "github", form: { launch: { env: [{ name: "GITHUB_TOKEN", value: null, secret: true }] } } }]);
  });

  it("that cannot be read shows no form that could be saved over it", async () => {
    const { rpc, real, asked } = await stage();
    await userEvent.click(screen.getByText("github"));
    const edit = await screen.findByTestId("server-edit");
    rpc.mockImplementation((cmd, payload) =>
      cmd === "server_form" ? Promise.reject({ what: "The disk is away.", safe: "Nothing changed.", todo: "Look at it." }) : real(cmd, payload),
    );
    await userEvent.click(edit);
    expect(await screen.findByText("The disk is away.")).toBeTruthy();
    expect(screen.queryByRole("textbox", { name: "Command" })).toBeNull();
    expect([screen.getByTestId("server-save"), screen.getByTestId("server-test")].every((it) => (it as HTMLButtonElement).disabled)).toBe(true);
    rpc.mockImplementation(real);
    await userEvent.click(screen.getByTestId("form-again"));
    expect(await screen.findByLabelText("Value of GITHUB_TOKEN")).toBeTruthy();
    expect(asked("save_server")).toEqual([]);
  });

  it("offers, and does not choose, the earlier revision that it names (H09)", async () => {
    const { platform, asked } = await stage();
    const server = { ...demoServers()[0]!, offers_earlier: "2025-11-25", rejected_tools: [{ name: "old", rule: "H09", why: "It declares no outputVariants." }] };
    platform.world.emit({ type: "server_changed", server });
    await userEvent.click(screen.getByText("Sample"));
    const offer = await screen.findByTestId("offers-earlier");
    expect(offer.textContent).toContain("1 tool was refused");
    expect(asked("pin_revision")).toEqual([]);
    await userEvent.click(within(offer).getByRole("button", { name: "Use 2025-11-25 with this server" }));
    expect(asked("pin_revision")).toEqual([{ server_id: "sample", revision: "2025-11-25" }]);
    await waitFor(() => expect(screen.queryByTestId("offers-earlier")).toBeNull());
  });

  it("says where one is signed in, and signs out", async () => {
    const { asked } = await stage();
    await userEvent.click(screen.getByText("budget"));
    expect((await screen.findByTestId("sign-in")).textContent).toContain("https://login.example");
    await userEvent.click(screen.getByTestId("sign-out"));
    expect(asked("sign_out")).toEqual([{ server_id: "budget" }]);
    await waitFor(() => expect(screen.getByTestId("sign-in").textContent).toContain("You are not signed in."));
  });

  it("is removed only after a second yes", async () => {
    const { asked } = await stage();
    await userEvent.click(screen.getByText("postgres"));
    await userEvent.click(await screen.findByRole("button", { name: "Remove" }));
    expect(asked("remove_server")).toEqual([]);
    await userEvent.click(screen.getByRole("button", { name: "Remove" }));
    expect(asked("remove_server")).toEqual([{ server_id: "postgres" }]);
  });
});

describe("lists of servers", () => {
  async function openMenu(item: string) {
    await userEvent.click(screen.getByRole("button", { name: "More for servers" }));
    await userEvent.click(await screen.findByText(item));
  }

  it("are reviewed before anything is kept, and nothing starts unasked", async () => {
    const { asked, store } = await stage();
    await openMenu("Import …");
    const known = await screen.findByTestId("import-known");
    expect(known.textContent).toContain("Cursor");
    expect(known.textContent).toContain("It is not JSON: expected a comma in line 7.");
    await userEvent.click(within(known).getByText("Claude Desktop"));
    const entries = await screen.findAllByTestId("import-entry");
    expect(entries.map((it) => it.dataset["key"])).toEqual(["filesystem", "weather", "tracker", "old"]);
    expect(entries[2]?.textContent).toContain("Not set here: TRACKER_TOKEN");
    const runs = within(entries[1]!).getByTestId("import-runs").textContent;
    for (const part of ["uvx weather-mcp", "WEATHER_KEY=${input:weather-key}", "OTHER_KEY=••••"]) expect(runs).toContain(part);
    expect(screen.getByTestId("import-skipped").textContent).toContain("half");
    expect(screen.getAllByTestId<HTMLInputElement>("import-start").every((it) => !it.checked)).toBe(true);
    // The name is taken, so it is taken in under another.
    await userEvent.click(screen.getByRole("button", { name: "Import as filesystem 2" }));
    await userEvent.click(screen.getAllByTestId("import-start")[1]!);
    await userEvent.click(screen.getByTestId("import-confirm"));
    expect(screen.getByText("weather cannot start without it.")).toBeTruthy();
    const key = screen.getByLabelText<HTMLInputElement>(/Key of the weather service/);
    expect([document.activeElement, key.type]).toEqual([key, "password"]);
    await userEvent.type(key, "k1");
    expect(screen.getByTestId("import-confirm").textContent?.trim()).toBe("Import 4 servers and start 1");
    await userEvent.click(screen.getByTestId("import-confirm"));
    await waitFor(() => expect(screen.queryByTestId("import-dialog")).toBeNull());
    expect(asked("import_servers")).toEqual([
      {
        source: { kind: "path", path: "~/.config/Claude/claude_desktop_config.json" },
        digest: "d1",
        chosen: [
          { key: "filesystem", name: "filesystem 2", enabled: false },
          { key: "weather", name: "weather", enabled: true },
          { key: "tracker", name: "tracker", enabled: false },
          { key: "old", name: "old", enabled: false },
        ],
        inputs: [["weather-key", "k1"]],
      },
    ]);
    expect(store.localNotices.map((it) => it.what)).toEqual(["4 servers were imported."]);
  });

  it("say why a text is none, and keep the text", async () => {
    await stage();
    await openMenu("Import …");
    const text = await screen.findByTestId<HTMLTextAreaElement>("import-text");
    await userEvent.type(text, "servers:");
    await userEvent.click(screen.getByTestId("import-review"));
    expect(await screen.findByText("This is no list of servers: it is not JSON.")).toBeTruthy();
    expect(text.value).toBe("servers:");
  });

  it("are written without secrets, copied and saved", async () => {
    const { asked } = await stage();
    await openMenu("Export …");
    expect((await screen.findByTestId("export-text")).textContent).toContain("mcpServers");
    expect(screen.getByTestId("export-remarks").textContent).toContain("GITHUB_TOKEN");
    await userEvent.click(screen.getByTestId("export-save"));
    expect(await screen.findByText("~/Downloads/mcp-servers.json")).toBeTruthy();
    expect(asked("save_servers_export")).toEqual([{}]);
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("export-dialog")).toBeNull());
    await waitFor(() => expect(document.activeElement).toBe(screen.getByRole("button", { name: "More for servers" })));
  });
});
