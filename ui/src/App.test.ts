import { render, screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import App from "./App.svelte";
import { fakePlatform, type FakeOptions } from "./platform/fake";
import { Store } from "./state/store.svelte";

async function open(options: FakeOptions = {}) {
  const platform = fakePlatform({ stepMs: 1, ...options });
  const store = new Store(platform);
  await store.start();
  window.innerWidth = 1280;
  render(App, { store });
  return { platform, store };
}

const rows = () => screen.getAllByTestId("conversation-row").map((row) => row.textContent?.trim());

describe("the window", () => {
  beforeEach(() => localStorage.clear());

  it("draws conversations, servers, the transcript and the inspector", async () => {
    await open();
    expect(rows()).toHaveLength(5);
    expect(screen.getAllByTestId("server-row").map((r) => r.dataset.state)).toEqual(["ready", "ready", "ready", "failed", "off"]);
    expect(screen.getAllByTestId("tool-card").map((c) => c.dataset.tool)).toEqual(["search_customers", "refresh_dashboard"]);
    expect(screen.getByTestId("inspector-tab-routing").dataset.state).toBe("active");
  });

  it("starts a conversation with Ctrl+N and puts the caret into the composer", async () => {
    await open();
    await userEvent.keyboard("{Control>}n{/Control}");
    await waitFor(() => expect(rows()[0]).toBe("New conversation"));
    expect(document.activeElement).toBe(screen.getByTestId("composer-input"));
  });

  it("turns the inspector with Ctrl+1 to 4 and goes round the panes with F6", async () => {
    await open();
    await userEvent.keyboard("{Control>}2{/Control}");
    expect(screen.getByTestId("inspector-tab-context").dataset.state).toBe("active");
    screen.getByTestId("composer-input").focus();
    await userEvent.keyboard("{F6}");
    expect(document.activeElement).toBe(screen.getByTestId("inspector-tab-context"));
    await userEvent.keyboard("{F6}");
    expect(screen.getByLabelText("Conversations and servers").contains(document.activeElement)).toBe(true);
    await userEvent.keyboard("{F6}");
    expect(document.activeElement).toBe(screen.getByTestId("composer-input"));
  });

  it("deletes a conversation with the keyboard, after asking", async () => {
    await open();
    screen.getAllByTestId("conversation-row")[1]!.focus();
    await userEvent.keyboard("{Delete}");
    const dialog = within(await screen.findByRole("dialog"));
    expect(rows()).toContain("Sunrise pictures");
    await userEvent.click(dialog.getByRole("button", { name: "Delete" }));
    await waitFor(() => expect(rows()).not.toContain("Sunrise pictures"));
  });

  it("renames with F2, and keeps the title when it is left with Esc", async () => {
    await open();
    screen.getAllByTestId("conversation-row")[1]!.focus();
    await userEvent.keyboard("{F2}Dawn{Enter}");
    await waitFor(() => expect(rows()).toContain("Dawn"));
    screen.getAllByTestId("conversation-row")[2]!.focus();
    await userEvent.keyboard("{F2}Other{Escape}");
    expect(rows()).toContain("Deployment check");
  });

  it("finds what was written in a message, marks it and opens its conversation there", async () => {
    const { store } = await open();
    await store.openConversation("c2");
    const search = screen.getByLabelText("Search conversations");
    await userEvent.type(search, "w");
    expect(screen.getByTestId("search-status").textContent).toContain("from two characters on");
    await userEvent.type(search, "ere globex");
    const hit = await screen.findByTestId("search-hit");
    expect([...hit.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["Globex", "were"]);
    expect(screen.queryByText(/No (title|message)/)).toBeNull();
    await userEvent.click(hit);
    await waitFor(() => expect(store.conversation?.summary.id).toBe("c1"));
    await waitFor(() => expect(store.revealItemId).toBeNull());
  });

  it("says once that nothing was found", async () => {
    await open();
    await userEvent.type(screen.getByLabelText("Search conversations"), "nowhere");
    await waitFor(() => expect(screen.getByTestId("search-status").textContent).toContain("No title and no message has these words."));
    expect(screen.queryByTestId("conversation-row")).toBeNull();
  });

  it("takes the theme that was chosen, and none for the system's", async () => {
    const { store } = await open();
    expect(document.documentElement.dataset.theme).toBeUndefined();
    await store.rpc("save_settings", { settings: { ...store.state!.settings, theme: "dark" } });
    await waitFor(() => expect(document.documentElement.dataset.theme).toBe("dark"));
  });

  it("offers the tour once, and Esc ends it for good", async () => {
    const { store } = await open({ firstRun: true });
    expect(screen.getByTestId("tour").textContent).toContain("Ask, and a tool is called");
    await userEvent.keyboard("{ArrowRight}{ArrowRight}");
    expect(screen.getByTestId("tour").textContent).toContain("See what the model read");
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("tour")).toBeNull());
    expect(store.state?.settings.tour_done).toBe(true);
  });

  it("says what happened when there is no host", async () => {
    const platform = fakePlatform();
    platform.subscribe = () => Promise.reject({ what: "The database is locked.", safe: "Nothing changed.", todo: "Close the other Usher." });
    const store = new Store(platform);
    await store.start();
    render(App, { store });
    expect(screen.getByRole("alert").textContent).toContain("Close the other Usher.");
  });
});
