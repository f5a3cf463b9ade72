import { render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { FieldView } from "../../bindings/FieldView";
import type { QuestionView } from "../../bindings/QuestionView";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import QuestionStage from "./QuestionStage.test.svelte";

const FORM: QuestionView = {
  id: "q1",
  server_name: "Weather",
  asked: {
    kind: "form",
    message: "Which region?",
    fields: [
      { name: "region", title: "Region", description: "As on the map", required: true, input: { kind: "text", format: null, max: 20 }, default_json: null },
      { name: "alerts", title: "Alerts", description: null, required: false, input: { kind: "switch" }, default_json: "true" },
    ],
  },
};

async function stage(question: QuestionView) {
  const store = new Store(fakePlatform({ now: () => 1, stepMs: 1 }));
  await store.start();
  const rpc = vi.spyOn(store, "rpc").mockResolvedValue(null as never);
  render(QuestionStage, { store, question });
  return rpc;
}

describe("a server's question", () => {
  it("shows every domain and feature that Views want in full, and begins on no button", async () => {
    const rpc = await stage({
      id: "q3",
      server_name: "Map",
      asked: {
        kind: "view_access",
        wishes: [
          { kind: "connect", what: "https://api.example.com:8443" },
          { kind: "resource", what: "https://*.tiles.example.com" },
          { kind: "permission", what: "clipboardWrite" },
        ],
      },
    });
    expect(screen.getByRole("heading", { name: "What Views of Map may have" })).toBeTruthy();
    expect(screen.getAllByTestId("wish").map((it) => it.textContent?.trim().replace(/\s+/g, " "))).toEqual([
      "https://api.example.com:8443",
      "https://*.tiles.example.com and every name that ends so",
      "The clipboard, to write to it",
    ]);
    expect(screen.getByRole("list", { name: "Exchange data with" })).toBeTruthy();
    expect(document.activeElement?.tagName).not.toBe("BUTTON");
    const now = vi.spyOn(performance, "now");
    now.mockReturnValue(0);
    await userEvent.click(screen.getByTestId("view-access-allow"));
    expect(rpc).not.toHaveBeenCalled();
    now.mockRestore();
    await new Promise((done) => setTimeout(done, 320));
    await userEvent.click(screen.getByTestId("view-access-allow"));
    expect(rpc).toHaveBeenCalledExactlyOnceWith("answer_question", { question_id: "q3", action: "accept", content_json: null });
  });

  it("says who asks, and sends what was filled in only when it is whole", async () => {
    const rpc = await stage(FORM);
    expect(screen.getByRole("heading", { name: "Weather asks" })).toBeTruthy();
    await userEvent.click(screen.getByTestId("question-send"));
    expect(screen.getByRole("alert").textContent).toBe("This is needed.");
    const region = screen.getByRole("textbox", { name: "Region" });
    await expect.poll(() => document.activeElement).toBe(region);
    const says = (region.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent);
    expect(says).toEqual(["As on the map", "This is needed."]);
    expect(rpc).not.toHaveBeenCalled();
    await userEvent.type(screen.getByRole("textbox", { name: "Region" }), "eu{Enter}");
    expect(rpc).toHaveBeenCalledExactlyOnceWith("answer_question", {
      question_id: "q1",
      action: "accept",
      content_json: '{"region":"eu","alerts":true}',
    });
  });

  it("is declined with a button and cancelled with Esc", async () => {
    let rpc = await stage(FORM);
    await userEvent.click(screen.getByTestId("question-decline"));
    expect(rpc).toHaveBeenCalledWith("answer_question", { question_id: "q1", action: "decline", content_json: null });
    document.body.innerHTML = "";
    rpc = await stage({ ...FORM, id: "q2" });
    await userEvent.keyboard("{Escape}");
    expect(rpc).toHaveBeenCalledWith("answer_question", { question_id: "q2", action: "cancel", content_json: null });
  });

  it("shows the whole address and its host before anything opens", async () => {
    const url = "https://example.com.evil.test/in?a=1";
    const rpc = await stage({ id: "q3", server_name: "Weather", asked: { kind: "url", message: "Sign in", url, host: "example.com.evil.test" } });
    expect(screen.getByTestId("question-url").textContent).toBe(url);
    expect(screen.getByText("example.com.evil.test")).toBeTruthy();
    expect(rpc).not.toHaveBeenCalled();
    await userEvent.click(screen.getByTestId("question-open"));
    // The yes opens it; nothing else can.
    expect(rpc.mock.calls.map((it) => it[0])).toEqual(["answer_question"]);
  });
});

describe("a question with the same choice twice", () => {
  const choices = [{ value: "eu", title: "eu" }, { value: "eu", title: "eu" }];
  const asks = (input: FieldView["input"]): QuestionView => ({
    id: "q7",
    server_name: "Weather",
    asked: { kind: "form", message: "Which region?", fields: [{ name: "region", title: "Region", description: null, required: true, input, default_json: null }] },
  });

  it("is drawn, and answered with one of them", async () => {
    const rpc = await stage(asks({ kind: "one", choices }));
    await userEvent.selectOptions(screen.getByLabelText("Region"), screen.getAllByRole("option", { name: "eu" })[1] as HTMLElement);
    await userEvent.click(screen.getByTestId("question-send"));
    expect(rpc).toHaveBeenCalledExactlyOnceWith("answer_question", { question_id: "q7", action: "accept", content_json: '{"region":"eu"}' });
  });

  it("is drawn where several may be chosen", async () => {
    await stage(asks({ kind: "many", choices }));
    expect(screen.getAllByRole("checkbox", { name: "eu" })).toHaveLength(2);
  });
});

it("a question that cannot be drawn can be declined, so that the next one is asked", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const field: FieldView = { name: "n", title: "N", description: null, required: true, input: { kind: "text", format: null, max: null }, default_json: "{" };
  const rpc = await stage({ id: "q8", server_name: "Weather", asked: { kind: "form", message: "?", fields: [field] } });
  expect(screen.getByRole("alert").textContent).toContain("The question could not be drawn");
  await userEvent.click(screen.getByTestId("question-decline"));
  expect(rpc).toHaveBeenCalledExactlyOnceWith("answer_question", { question_id: "q8", action: "decline", content_json: null });
});

const SAMPLE: QuestionView = {
  id: "q4",
  server_name: "Weather",
  asked: {
    kind: "sample",
    request: {
      system: "Be brief.",
      messages: [
        { is_assistant: false, text: "<b>Sum it up</b>" },
        { is_assistant: true, text: "Hm" },
      ],
      model: "m-1",
      url: "http://127.0.0.1:1/v1/chat/completions",
      max_tokens: 4096,
      bytes: 300,
      tool: "think",
      conversation: "A chat",
      remarks: ["It wants another temperature; the model keeps its own."],
    },
  },
};

describe("a server that asks the model", () => {
  it("shows every word that would be sent, to which model, and for how much", async () => {
    const rpc = await stage(SAMPLE);
    expect(screen.getByRole("heading", { name: "Weather wants to ask the model" })).toBeTruthy();
    expect(screen.getByTestId("sample-system").textContent).toBe("Be brief.");
    expect(screen.getAllByTestId("sample-message").map((it) => it.textContent)).toEqual(["<b>Sum it up</b>", "Hm"]);
    expect(screen.getByText("Said in the model's name")).toBeTruthy();
    expect(screen.getByText("up to 4,096 tokens")).toBeTruthy();
    expect(screen.getByText("m-1")).toBeTruthy();
    expect(rpc).not.toHaveBeenCalled();
    await userEvent.click(screen.getByTestId("sample-allow"));
    expect(rpc).toHaveBeenCalledExactlyOnceWith("answer_question", { question_id: "q4", action: "accept", content_json: null });
  });

  it("is refused with a button, and with Esc", async () => {
    let rpc = await stage(SAMPLE);
    await userEvent.click(screen.getByTestId("sample-refuse"));
    expect(rpc).toHaveBeenCalledWith("answer_question", { question_id: "q4", action: "decline", content_json: null });
    document.body.innerHTML = "";
    rpc = await stage({ ...SAMPLE, id: "q5" });
    await userEvent.keyboard("{Escape}");
    expect(rpc).toHaveBeenCalledWith("answer_question", { question_id: "q5", action: "cancel", content_json: null });
  });

  it("has the answer only when the person sends it", async () => {
    const answer = { model: "m-1", text: "It rains.", cut: "it reached the most that it may write", exchange_id: "x", conversation_id: "c" };
    const rpc = await stage({ id: "q6", server_name: "Weather", asked: { kind: "sample_answer", answer } });
    expect(screen.getByTestId("sample-text").textContent).toBe("It rains.");
    expect(screen.getByText("It is not whole: it reached the most that it may write.")).toBeTruthy();
    expect(rpc).not.toHaveBeenCalled();
    await userEvent.click(screen.getByTestId("sample-keep"));
    expect(rpc).toHaveBeenCalledExactlyOnceWith("answer_question", { question_id: "q6", action: "decline", content_json: null });
  });
});
