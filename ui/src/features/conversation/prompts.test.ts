import { render, screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { fakePlatform } from "../../platform/fake";
import { demoPrompts } from "../../platform/demo/prompts";
import { Store } from "../../state/store.svelte";
import ComposerStage from "./ComposerStage.test.svelte";
import { filled, listKey, matching, missing, slashWord } from "./prompts";

const [review] = demoPrompts().prompts;
const key = (name: string) => ({ key: name, shiftKey: false, altKey: false, ctrlKey: false, isComposing: false, keyCode: 0 });

describe("a slash command", () => {
  it("is one word at the start of the message", () => {
    expect(["/", "/rev", "a /rev", "/rev it", "/a\nb", ""].map(slashWord)).toEqual(["", "rev", null, null, null, null]);
  });

  it("matches by name, title and server, and what begins so comes first", () => {
    const { prompts } = demoPrompts();
    const names = (word: string) => matching(prompts, word).map((prompt) => prompt.name);
    expect(names("")).toEqual(["account_review", "weekly_report"]);
    expect(names("WEEK")).toEqual(["weekly_report"]);
    expect(names("an account")).toEqual(["account_review"]);
    expect(names("sample")).toEqual(["account_review", "weekly_report"]);
    expect(names("re")).toEqual(["account_review", "weekly_report"]);
    expect(names("nothing")).toEqual([]);
  });

  it("leaves keys of an input method to it", () => {
    expect(listKey(key("Enter"))).toBe("take");
    expect(listKey({ ...key("Enter"), isComposing: true })).toBeNull();
    expect(listKey({ ...key("Enter"), shiftKey: true })).toBeNull();
    expect(listKey(key("Home"))).toBeNull();
  });

  it("knows what is missing and sends what was filled in", () => {
    if (review === undefined) throw new Error("the demonstration has prompts");
    expect(missing(review, { customer: " " })).toEqual(["customer"]);
    expect(missing(review, { customer: "Globex" })).toEqual([]);
    expect(filled(review, { tone: "dry", customer: "Globex" })).toEqual([["customer", "Globex"], ["tone", "dry"]]);
  });
});

async function stage(conversationId: string) {
  const platform = fakePlatform({ now: () => 1_800_000_000_000, stepMs: 1 });
  const answer = platform.rpc.bind(platform);
  const rpc = vi.spyOn(platform, "rpc");
  const store = new Store(platform);
  await store.start();
  await store.openConversation(conversationId);
  render(ComposerStage, { store });
  const asked = (cmd: string) => rpc.mock.calls.filter(([name]) => name === cmd).map(([, payload]) => payload);
  return { store, rpc, answer, asked, field: screen.getByTestId<HTMLTextAreaElement>("composer-input") };
}

describe("prompts in the composer", () => {
  it("are a list that a screen reader follows, and Esc closes it", async () => {
    const { asked, field } = await stage("c2");
    expect(field.getAttribute("role")).toBeNull();
    await userEvent.type(field, "/");
    const options = await screen.findAllByTestId("prompt-option");
    expect(options.map((one) => one.dataset.prompt)).toEqual(["account_review", "weekly_report"]);
    expect(field.getAttribute("role")).toBe("combobox");
    expect(field.getAttribute("aria-activedescendant")).toBe(options[0]?.id);
    await userEvent.keyboard("{ArrowDown}");
    expect(field.getAttribute("aria-activedescendant")).toBe(options[1]?.id);
    expect(options[1]?.getAttribute("aria-selected")).toBe("true");
    await userEvent.keyboard("{ArrowDown}{Escape}");
    expect(screen.queryByTestId("prompt-list")).toBeNull();
    expect(field.value).toBe("/");
    expect(asked("list_prompts")).toHaveLength(1);
    await userEvent.keyboard("{Enter}");
    expect(asked("send_message")).toEqual([{ conversation_id: "c2", text: "/" }]);
  });

  it("ask for their arguments, suggest values, are shown, and are sent only then", async () => {
    const { asked, field } = await stage("c2");
    await userEvent.type(field, "/acc");
    await screen.findByTestId("prompt-option");
    await userEvent.keyboard("{Enter}");
    const customer = await screen.findByTestId("prompt-argument-customer");
    await waitFor(() => expect(document.activeElement).toBe(customer));
    expect(field.value).toBe("");
    await userEvent.click(screen.getByTestId("prompt-fetch"));
    expect(customer.getAttribute("aria-invalid")).toBe("true");
    expect(asked("use_prompt")).toEqual([]);
    await userEvent.type(customer, "Glo");
    // What is suggested follows what was typed a moment later.
    await waitFor(() =>
      expect(screen.getAllByTestId("suggestion").map((one) => one.textContent)).toEqual(["Globex", "Globe Trotters"]),
    );
    await userEvent.keyboard("{ArrowDown}{Enter}");
    expect(customer).toHaveProperty("value", "Globex");
    // In the window Enter does the same; here a form has no button but those inside of it.
    await userEvent.click(screen.getByTestId("prompt-fetch"));
    const preview = await screen.findByTestId("prompt-preview");
    expect(preview.textContent).toContain("Review this: account_review customer=Globex");
    expect(asked("use_prompt")).toEqual([{ server_id: "sample", prompt: "account_review", arguments: [["customer", "Globex"]] }]);
    expect(asked("send_prompt")).toEqual([]);
    await userEvent.click(screen.getByTestId("prompt-send"));
    await waitFor(() => expect(screen.queryByTestId("prompt-preview")).toBeNull());
    expect(asked("send_prompt")).toHaveLength(1);
  });

  it("without arguments are shown at once, and Discard sends nothing", async () => {
    const { asked, field } = await stage("c2");
    await userEvent.type(field, "/week");
    await userEvent.click(await screen.findByTestId("prompt-option"));
    await screen.findByTestId("prompt-preview");
    await userEvent.click(screen.getByTestId("prompt-discard"));
    await waitFor(() => expect(screen.queryByTestId("prompt-preview")).toBeNull());
    expect(asked("discard_fetched")).toHaveLength(1);
    expect(asked("send_prompt")).toEqual([]);
    await waitFor(() => expect(document.activeElement).toBe(field));
  });

  it("say why a server refused, and keep what was filled in", async () => {
    const { rpc, field } = await stage("c2");
    await userEvent.type(field, "/acc");
    await screen.findByTestId("prompt-option");
    await userEvent.keyboard("{Tab}");
    const customer = await screen.findByTestId("prompt-argument-customer");
    await userEvent.type(customer, "Initech");
    const answer = rpc.getMockImplementation();
    rpc.mockImplementation((cmd, payload) =>
      cmd === "use_prompt"
        ? Promise.reject({ what: "Sample did not give it.", safe: "Nothing was sent.", todo: "Try again." })
        : (answer ?? (() => Promise.reject(new Error("none"))))(cmd, payload),
    );
    await userEvent.click(screen.getByTestId("prompt-fetch"));
    expect((await screen.findByRole("alert")).textContent).toContain("Sample did not give it.");
    expect(customer).toHaveProperty("value", "Initech");
  });

  /** Holds back the answers to `use_prompt` until they are let go. */
  function holdBack({ rpc, answer }: Awaited<ReturnType<typeof stage>>) {
    const held: (() => void)[] = [];
    rpc.mockImplementation(async (cmd, payload) => {
      if (cmd === "use_prompt") await new Promise<void>((resolve) => held.push(resolve));
      return answer(cmd, payload);
    });
    return held;
  }

  it("come to the conversation that asked, with what was filled in, whichever is open", async () => {
    const staged = await stage("c2");
    const { store, asked, field } = staged;
    const held = holdBack(staged);
    await userEvent.type(field, "/acc");
    await screen.findByTestId("prompt-option");
    await userEvent.keyboard("{Enter}");
    await userEvent.type(await screen.findByTestId("prompt-argument-customer"), "Globex");
    await userEvent.click(screen.getByTestId("prompt-fetch"));
    expect(held).toHaveLength(1);
    await store.openConversation("c3");
    await waitFor(() => expect(screen.queryByTestId("prompt-form")).toBeNull());
    await store.openConversation("c2");
    expect(await screen.findByTestId("prompt-argument-customer")).toHaveProperty("value", "Globex");
    await store.openConversation("c3");
    await waitFor(() => expect(screen.queryByTestId("prompt-form")).toBeNull());
    held[0]?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(screen.queryByTestId("prompt-preview")).toBeNull();
    await store.openConversation("c2");
    expect((await screen.findByTestId("prompt-preview")).textContent).toContain("customer=Globex");
    expect(asked("discard_fetched")).toEqual([]);
  });

  it("are forgotten when they come after Cancel", async () => {
    const staged = await stage("c2");
    const { asked, field } = staged;
    const held = holdBack(staged);
    await userEvent.type(field, "/week");
    await userEvent.click(await screen.findByTestId("prompt-option"));
    await userEvent.click(await screen.findByTestId("prompt-cancel"));
    held[0]?.();
    await waitFor(() => expect(asked("discard_fetched")).toHaveLength(1));
    expect(screen.queryByTestId("prompt-preview")).toBeNull();
  });

  it("that name an argument twice have it twice", async () => {
    const { rpc, answer, field } = await stage("c2");
    const twice = { ...review!, arguments: [...review!.arguments, ...review!.arguments] };
    rpc.mockImplementation((cmd, payload) => (cmd === "list_prompts" ? (Promise.resolve({ prompts: [twice], failed: [] }) as never) : answer(cmd, payload)));
    await userEvent.type(field, "/acc");
    await userEvent.click(await screen.findByTestId("prompt-option"));
    expect(await screen.findAllByTestId("prompt-argument-customer")).toHaveLength(2);
  });

  it("are none where no server has any", async () => {
    const { rpc, field } = await stage("c2");
    rpc.mockImplementation(() => Promise.resolve({ prompts: [], failed: ["files could not list its prompts: it ended."] }) as never);
    await userEvent.type(field, "/");
    expect((await screen.findByTestId("prompt-list-empty")).textContent).toContain("No connected server has prompts");
    expect(screen.getByTestId("prompt-list").textContent).toContain("files could not list its prompts");
  });
});
