import { expect, it } from "vitest";
import { setApart } from "./apart";

it("takes all around a part out of reach but what is said aloud, and gives it back", () => {
  document.body.innerHTML = `
    <div id="dialog"></div>
    <div>
      <aside id="side"></aside>
      <main><p id="news" role="alert"></p><p id="before" inert></p><section id="part"><i></i></section><p id="after"></p></main>
    </div>`;
  const part = document.getElementById("part");
  if (part === null) throw new Error("no part");
  const undo = setApart(part);
  const inert = () => [...document.querySelectorAll("[inert]")].map((node) => node.id);
  expect(inert()).toEqual(["side", "before", "after"]);
  undo();
  expect(inert()).toEqual(["before"]);
});
