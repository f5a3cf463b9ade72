/** Which requests wait for an answer across the boundary of a View, so that an answer can be named by what was asked. */

/** Requests of one direction that are remembered, and characters of their numbers and names. Beyond it an answer has its number alone. */
const KEPT = 200;
const LONGEST_NAME = 200;

export class Asked {
  private readonly methods = new Map<string, string>();

  /** A request went out or came in. */
  note(id: string | number, method: string): void {
    const key = keyOf(id);
    if (key.length > LONGEST_NAME) return;
    this.methods.delete(key);
    this.methods.set(key, method.slice(0, LONGEST_NAME));
    const [oldest] = this.methods.keys();
    if (this.methods.size > KEPT && oldest !== undefined) this.methods.delete(oldest);
  }

  /** What an answer is called. Each request is answered once. */
  answered(id: string | number | undefined): string {
    if (id === undefined) return "answer";
    const key = keyOf(id);
    const method = this.methods.get(key);
    this.methods.delete(key);
    const number = String(id).slice(0, LONGEST_NAME);
    return method === undefined ? `answer ${number}` : `answer ${number} to ${method}`;
  }
}

/** The number 1 and the text "1" are two. */
function keyOf(id: string | number): string {
  return JSON.stringify(id);
}
