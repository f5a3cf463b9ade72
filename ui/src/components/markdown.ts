import DOMPurify from "dompurify";
import { Marked, type Token } from "marked";

/** A part of an answer: code is drawn by the window, the rest is checked HTML. */
export type MarkdownPart = { kind: "html"; html: string } | { kind: "code"; language: string; text: string };

const TAGS = [
  "a", "b", "blockquote", "br", "code", "del", "details", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "kbd",
  "li", "ol", "p", "pre", "s", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr",
  "u", "ul",
];
/** No class, id, name or style: an answer must not dress up as a part of the window. */
const ATTRIBUTES = ["href", "align", "start", "colspan", "rowspan"];
/** Attributes that hold no address, so that the rule for addresses does not take them away. */
const PLAIN = ATTRIBUTES.filter((name) => name !== "href");
const LINKS = /^(?:https?|mailto):/i;
/** Blocks whose HTML is kept, so that a growing answer is cleaned only at its end. */
const CACHE_SIZE = 500;

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    // A picture would tell its server that it was read, so its address is a link instead.
    image({ href, text }) {
      const label = escapeHtml(text === "" ? href : text);
      return `<a href="${escapeHtml(href)}">Picture, not loaded: ${label}</a>`;
    },
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
  },
});

const purify = DOMPurify();
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  const href = node.getAttribute("href");
  if (href === null || !LINKS.test(href)) {
    node.removeAttribute("href");
    return;
  }
  node.setAttribute("rel", "noreferrer noopener");
  node.setAttribute("draggable", "false");
});

const cache = new Map<string, string>();

/** Takes Markdown apart into code and HTML that is safe to put into the page. */
export function renderMarkdown(source: string): MarkdownPart[] {
  const tokens = marked.lexer(source);
  const parts: MarkdownPart[] = [];
  for (const token of tokens) {
    if (token.type === "space") continue;
    if (token.type === "code") {
      const language = (token.lang ?? "").trim().split(/\s+/)[0] ?? "";
      parts.push({ kind: "code", language, text: token.text as string });
    } else parts.push({ kind: "html", html: htmlOf(token) });
  }
  return parts;
}

/** The address that a link would open, exactly, or `null` if it may not be opened. */
export function linkAddress(href: string | null): string | null {
  if (href === null || !LINKS.test(href)) return null;
  try {
    return new URL(href).href;
  } catch {
    return null;
  }
}

/** Cleans HTML by a short list of what is allowed. */
export function sanitize(html: string): string {
  return purify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ADD_URI_SAFE_ATTR: PLAIN,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: LINKS,
  });
}

function htmlOf(token: Token): string {
  const known = cache.get(token.raw);
  if (known !== undefined) return known;
  const html = sanitize(marked.parser([token]));
  if (cache.size >= CACHE_SIZE) cache.clear();
  cache.set(token.raw, html);
  return html;
}

function escapeHtml(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (c) => names[c] ?? c);
}
