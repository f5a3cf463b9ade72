/**
 * Who may be asked, when, and what an answer lets through: a View's words reach the model, and its links are opened,
 * only with the user's consent (X5). One question stands in the window at a time, whatever the number of Views; a
 * refusal is final for what its View asked meanwhile, so that a View that spams gets one dialog and no more.
 * Deliberately absent: drawing, and the check of an address, which is Rust's.
 */

/** What a View asks of the user. */
export type Question =
  /** `ui/message`: words in the user's name. */
  | { kind: "message"; text: string }
  /** `ui/update-model-context`: words that the View keeps before the model. */
  | { kind: "context"; text: string }
  /** `ui/open-link`: an address to open outside. */
  | { kind: "link"; address: string };

/** What the user may answer. */
export type Choice = "once" | "view" | "refuse";

/** How many questions of one View may wait behind the one that is shown. */
export const MOST_WAITING = 3;
/** A View that asks again so soon after a refusal is refused without a question; in milliseconds. */
export const QUIET_MS = 1000;
/** A question that has just appeared cannot be agreed to yet: the click or key was meant for something else. In milliseconds. */
export const SETTLE_MS = 300;
/** Characters that a user can be expected to look through; more are refused. */
export const MOST_CHARACTERS = 100_000;

interface Entry {
  seat: Seat;
  question: Question;
  done: (allowed: boolean) => void;
  withdraw: () => void;
}

/** The one place of a window where questions stand in line. `now` gives milliseconds. */
export class Desk {
  private line: Entry[] = [];
  private shown: Entry | null = null;
  private shownAt = 0;

  constructor(readonly now: () => number) {}

  /** A place for one opening of a View. `show` is told which of its questions is the one to answer, or that none is. */
  seat(show: (question: Question | null) => void): Seat {
    return new Seat(this, show);
  }

  /** How many questions of a seat are open. */
  count(seat: Seat): number {
    return this.line.filter((it) => it.seat === seat).length;
  }

  add(entry: Entry): void {
    this.line.push(entry);
    this.settle();
  }

  /** The question of a seat that is shown, and for how many milliseconds. */
  current(seat: Seat): { entry: Entry; age: number } | null {
    if (this.shown === null || this.shown.seat !== seat) return null;
    return { entry: this.shown, age: this.now() - this.shownAt };
  }

  /** Answers those questions of a seat for which `judge` says something; the others go on waiting. */
  resolve(seat: Seat, judge: (entry: Entry) => boolean | null): void {
    const rest: Entry[] = [];
    for (const entry of this.line) {
      const verdict = entry.seat === seat ? judge(entry) : null;
      if (verdict === null) rest.push(entry);
      else {
        entry.withdraw();
        entry.done(verdict);
      }
    }
    this.line = rest;
    this.settle();
  }

  /** Shows the first of the line, if another one is shown. */
  private settle(): void {
    const next = this.line[0] ?? null;
    if (next === this.shown) return;
    const before = this.shown;
    this.shown = next;
    this.shownAt = this.now();
    if (before !== null && before.seat !== next?.seat) before.seat.show(null);
    next?.seat.show(next.question);
  }
}

/** What one opening of a View was allowed and refused. It ends with the opening. */
export class Seat {
  private readonly allowed = new Set<Question["kind"]>();
  private contextRefused = false;
  private refusedAt = Number.NEGATIVE_INFINITY;
  private closed = false;

  constructor(
    private readonly desk: Desk,
    readonly show: (question: Question | null) => void,
  ) {}

  /** Whether the View may. Answers at once where no question is needed; a View that gives up takes its question back. */
  ask(question: Question, signal?: AbortSignal): Promise<boolean> {
    if (this.closed || signal?.aborted === true) return Promise.resolve(false);
    if (this.allowed.has(question.kind)) return Promise.resolve(true);
    if (question.kind === "context" && this.contextRefused) return Promise.resolve(false);
    if (this.desk.now() - this.refusedAt < QUIET_MS) return Promise.resolve(false);
    if (this.desk.count(this) > MOST_WAITING) return Promise.resolve(false);
    return new Promise((done) => {
      const entry: Entry = { seat: this, question, done, withdraw: () => signal?.removeEventListener("abort", takeBack) };
      const takeBack = (): void => this.desk.resolve(this, (it) => (it === entry ? false : null));
      signal?.addEventListener("abort", takeBack);
      this.desk.add(entry);
    });
  }

  /** The user's answer to the question that is shown. */
  answer(choice: Choice): void {
    const current = this.desk.current(this);
    if (current === null) return;
    const { kind } = current.entry.question;
    if (choice === "refuse") {
      this.refusedAt = this.desk.now();
      if (kind === "context") this.contextRefused = true;
      this.desk.resolve(this, () => false);
      return;
    }
    if (current.age < SETTLE_MS) return;
    // A View replaces what it keeps before the model as often as it likes, so it is asked about once. A link never stands for another one.
    if (kind === "context" || (kind === "message" && choice === "view")) this.allowed.add(kind);
    this.desk.resolve(this, (it) => (it === current.entry || this.allowed.has(it.question.kind) ? true : null));
  }

  /** The View is gone: what it asked is refused, and nothing is shown for it any more. */
  close(): void {
    this.closed = true;
    this.desk.resolve(this, () => false);
  }
}

/** The text that would reach the model: the text blocks, and the structured value as JSON. Pictures, sound and links are left out. */
export function wordsOf(params: unknown): string {
  if (!isRecord(params)) return "";
  const blocks = Array.isArray(params["content"]) ? params["content"] : [];
  const texts = blocks.flatMap((block: unknown) =>
    isRecord(block) && block["type"] === "text" && typeof block["text"] === "string" ? [block["text"]] : [],
  );
  const structured = params["structuredContent"];
  if (isRecord(structured)) texts.push(JSON.stringify(structured));
  return texts.filter((text) => text !== "").join("\n");
}

/** Whether a View takes back what it keeps before the model, which needs no consent. */
export function isClearing(params: unknown): boolean {
  if (!isRecord(params)) return false;
  const { content, structuredContent } = params;
  return (content === undefined || (Array.isArray(content) && content.length === 0)) && structuredContent === undefined;
}

/** A stretch of a text; one that cannot be seen is written as its number. */
export interface Piece {
  text: string;
  hidden: boolean;
}

// Controls, formats such as the ones that turn the direction, and the selectors that can carry a message of their own.
const UNSEEN = /((?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u{fe00}-\u{fe0e}\u{e0100}-\u{e01ef}])/u;

/** A text as a user can check it: nothing in it hides, and nothing changes the order of what stands around it. */
export function visible(text: string): Piece[] {
  return text.split(UNSEEN).flatMap((part, at): Piece[] => {
    if (part === "") return [];
    if (at % 2 === 0) return [{ text: part, hidden: false }];
    const number = (part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return [{ text: `U+${number}`, hidden: true }];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
