import { describe, expect, it } from "vitest";
import { linkAddress, renderMarkdown, sanitize } from "./markdown";

function html(source: string): string {
  return renderMarkdown(source)
    .map((part) => (part.kind === "html" ? part.html : `[code ${part.language}]`))
    .join("");
}

/** The page that the HTML would make. */
function page(source: string): HTMLElement {
  const root = document.createElement("div");
  root.innerHTML = html(source);
  return root;
}

describe("Markdown", () => {
  it("becomes HTML, with code apart", () => {
    expect(renderMarkdown("A **bold** word.\n\n```js\n<b>1</b>\n```\n")).toEqual([
      { kind: "html", html: "<p>A <strong>bold</strong> word.</p>\n" },
      { kind: "code", language: "js", text: "<b>1</b>" },
    ]);
  });

  it("keeps tables, lists and quotes", () => {
    const root = page("| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n> said");
    expect([...root.querySelectorAll("td")].map((td) => td.getAttribute("align"))).toEqual([null, "right"]);
    expect(root.querySelectorAll("li")).toHaveLength(2);
    expect(root.querySelector("input")).toBeNull();
    expect(root.querySelector("blockquote")?.textContent).toContain("said");
  });

  it("shows an unfinished code block while it is written", () => {
    expect(renderMarkdown("```py\nprint(1")).toEqual([{ kind: "code", language: "py", text: "print(1" }]);
  });
});

describe("hostile Markdown", () => {
  const attacks = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe src='https://evil.example'></iframe>",
    "<object data='x'></object><embed src='x'>",
    "<form action='https://evil.example'><input name=a><button>go</button></form>",
    "<base href='https://evil.example'>",
    "<link rel=stylesheet href='https://evil.example/x.css'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<video src='https://evil.example/v'></video><audio src='https://evil.example/a'></audio>",
    "<a href='javascript:alert(1)'>x</a>",
    "<div style='position:fixed;inset:0'>over all</div>",
    "<p class='notice error' id='app' name='x'>dressed up</p>",
    "![x](https://evil.example/pixel.png)",
    "[x]: https://evil.example/p.png\n\n![alt][x]",
    "<p onclick=alert(1) data-testid='approval-once' aria-label='x'>p</p>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<details open ontoggle=alert(1)><summary>s</summary></details>",
    "<picture><source srcset='https://evil.example/x'></picture>",
    "<td background='https://evil.example/x'>",
  ];

  it.each(attacks)("runs, loads and imitates nothing: %s", (attack) => {
    for (const source of [attack, `text ${attack} text`, `- ${attack}`, `> ${attack}`]) {
      const root = page(source);
      for (const element of root.querySelectorAll("*")) {
        expect(element.namespaceURI).toBe("http://www.w3.org/1999/xhtml");
        expect([
          "A", "BLOCKQUOTE", "BR", "CODE", "DETAILS", "EM", "LI", "OL", "P", "PRE", "SPAN", "STRONG", "SUMMARY", "TABLE",
          "TBODY", "TD", "TR", "UL",
        ]).toContain(element.tagName);
        const names = element.getAttributeNames();
        const allowed = ["href", "rel", "draggable", "align", "start", "colspan", "rowspan"];
        expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
        const href = element.getAttribute("href");
        if (href !== null) expect(href).toMatch(/^(https?|mailto):/);
      }
    }
  });

  it.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#x09;script:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/relative)",
    "[x](tauri://localhost)",
    "<javascript:alert(1)>",
  ])("gives no address to %s", (source) => {
    expect(page(source).querySelector("a[href]")).toBeNull();
  });

  it("names a picture instead of loading it", () => {
    const root = page("![a chart](https://evil.example/p.png?secret)");
    expect(root.querySelector("img")).toBeNull();
    expect(root.querySelector("a")?.textContent).toBe("Picture, not loaded: a chart");
  });

  it("does not let a picture's text break out", () => {
    const root = page('![a"><img src=x onerror=1>](https://a.example/"><script>)');
    expect(root.querySelector("img, script")).toBeNull();
  });

  it("is not woken up by a second pass", () => {
    const once = html("<p title='&lt;img src=x onerror=alert(1)&gt;'>`<img src=x>`</p>");
    expect(sanitize(once)).toBe(once);
    expect(page("`<img src=x onerror=1>`").querySelector("img")).toBeNull();
  });
});

describe("the address of a link", () => {
  it("is whole, and only of a kind that may be opened", () => {
    expect(linkAddress("https://a.example/x?y=1#z")).toBe("https://a.example/x?y=1#z");
    expect(linkAddress("mailto:a@b.example")).toBe("mailto:a@b.example");
    expect(linkAddress("javascript:alert(1)")).toBeNull();
    expect(linkAddress("https://")).toBeNull();
    expect(linkAddress(null)).toBeNull();
  });

  it("shows letters of other scripts as what they are", () => {
    expect(linkAddress("https://аpple.example/")).toBe("https://xn--pple-43d.example/");
  });
});
