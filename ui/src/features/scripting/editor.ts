/** The JavaScript editor. This module and all of CodeMirror are loaded when the pane is opened for the first time. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { DeclaredServer } from "./declarations";

/** What the pane does with the editor. */
export interface ScriptEditor {
  text(): string;
  replace(text: string): void;
  /** Puts the cursor on a line, from 1. */
  goTo(line: number): void;
  focus(): void;
  destroy(): void;
}

/** What the editor needs. */
export interface EditorDoors {
  text: string;
  servers: () => readonly DeclaredServer[];
  onrun: () => void;
  onchange: (text: string) => void;
}

/** Makes the editor in its place. */
export function createEditor(parent: HTMLElement, doors: EditorDoors): ScriptEditor {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: doors.text,
      extensions: [
        Prec.highest(
          keymap.of([
            {
              key: "Mod-Enter",
              run: () => {
                doors.onrun();
                return true;
              },
            },
          ]),
        ),
        lineNumbers(),
        EditorView.lineWrapping,
        history(),
        drawSelection(),
        highlightSpecialChars(),
        highlightActiveLine(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [(context) => complete(context, doors.servers())], icons: false }),
        javascript(),
        syntaxHighlighting(colours),
        look,
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) doors.onchange(update.state.doc.toString());
        }),
        EditorView.contentAttributes.of({ "aria-label": "Script", spellcheck: "false" }),
      ],
    }),
  });
  adoptBlockedStyles();
  return {
    text: () => view.state.doc.toString(),
    replace: (text) => {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    goTo: (line) => {
      const at = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)));
      view.dispatch({ selection: { anchor: at.from }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
      view.focus();
    },
    focus: () => {
      view.focus();
    },
    destroy: () => {
      view.destroy();
    },
  };
}

/**
 * The editor writes its rules into a style element, which the window's content policy refuses. A sheet that is
 * made by script is not refused, so the rules of a refused element are adopted as one; once, as they never change.
 */
function adoptBlockedStyles(): void {
  for (const element of document.head.querySelectorAll("style")) {
    const rules = element.textContent;
    if (element.sheet !== null || adopted.has(rules) || !rules.includes(".cm-")) continue;
    adopted.add(rules);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    document.adoptedStyleSheets.push(sheet);
  }
}
const adopted = new Set<string>();

/** Completes `tools.`, the servers and their tools. */
export function complete(context: CompletionContext, servers: readonly DeclaredServer[]): CompletionResult | null {
  const path = context.matchBefore(/tools\.[\w$]*(?:\.[\w$]*)?/);
  if (path === null) {
    const word = context.matchBefore(/[\w$]+/);
    if (word === null || (word.from === word.to && !context.explicit)) return null;
    return { from: word.from, options: [{ label: "tools", type: "variable" }, { label: "console", type: "variable" }, { label: "sleep", type: "function" }] };
  }
  const [, server, tool] = path.text.split(".");
  const options: Completion[] =
    tool === undefined
      ? servers.map((one) => ({ label: one.name, detail: `${one.tools.length} tools`, type: "namespace" }))
      : (servers.find((one) => one.name === server)?.tools ?? []).map((one) => ({
          label: one.name,
          detail: `(${one.parameters.length > 60 ? "…" : one.parameters})`,
          info: one.doc,
          type: "function",
        }));
  return { from: path.from + path.text.lastIndexOf(".") + 1, options, validFor: /^[\w$]*$/ };
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.bool, tags.null], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number], color: "var(--code-number)" },
  { tag: [tags.comment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--code-name)" },
  { tag: [tags.invalid], color: "var(--bad)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "12px", color: "var(--ink)", backgroundColor: "var(--panel)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "19px" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--ghost)", border: "0", paddingLeft: "4px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-matchingBracket": { backgroundColor: "var(--active)", outline: "none" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", borderRadius: "var(--r-m)", boxShadow: "var(--shadow-pop)", color: "var(--ink)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "11.5px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--active)", color: "var(--ink)" },
  ".cm-completionDetail": { color: "var(--faint)", fontStyle: "normal" },
  ".cm-tooltip.cm-completionInfo": { padding: "6px 10px", maxWidth: "280px", fontSize: "12px" },
});
