/**
 * The flow picture of one call: tool, outputs, consumers. Heights say bytes on a logarithmic scale that is the same
 * for every call, so that two pictures can be compared and a small output stays large enough to be opened.
 * Deliberately absent: decisions. What went where was decided in Rust; this places it.
 */
import type { AudienceChip } from "../../bindings/AudienceChip";
import type { AudienceColor } from "../../bindings/AudienceColor";
import type { ConsumerName } from "../../bindings/ConsumerName";
import type { ToolCallView } from "../../bindings/ToolCallView";
import { isOpen } from "../../components/call-state";
import { consumerColor, consumerLabel, formatBytes } from "../../components/format";

/** A ribbon between two nodes. */
export interface Band {
  id: string;
  path: string;
  color: AudienceColor | "withheld";
  /** Opens the very bytes. */
  handle: string;
  /** What the band says to somebody who does not see it. */
  label: string;
  broken: boolean;
}

/** A box in the picture. */
export interface Node {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  color: AudienceColor | "withheld" | "tool";
  /** Asked for, not (yet) there. */
  hollow: boolean;
}

/** Words in the picture. */
export interface Label {
  id: string;
  x: number;
  y: number;
  text: string;
  tone: "ink" | "mute" | "bad";
}

/** Where a withheld output ends. */
export interface Stop {
  id: string;
  x1: number;
  x2: number;
  y: number;
}

/** The whole picture. */
export interface Flow {
  width: number;
  height: number;
  bands: Band[];
  nodes: Node[];
  labels: Label[];
  stops: Stop[];
  /** One sentence per band, for a screen reader. */
  sentences: string[];
}

interface Edge {
  consumer: ConsumerName;
  bytes: number;
  handle: string;
  how: string;
  door: string;
}

interface Output {
  id: string;
  label: string;
  color: AudienceColor;
  bytes: number;
  handle: string | null;
  edges: Edge[];
  withheld: { rule: string | null; why: string } | null;
}


const CONSUMER_ORDER: readonly ConsumerName[] = ["model", "user", "script", "view"];
/** A hostile server may send thousands; the picture stays a picture, and the ledger has them all. */
const MOST_OUTPUTS = 24;
const MIN_HEIGHT = 9;
const MAX_HEIGHT = 56;
const LABEL_HEIGHT = 18;
const ROW_GAP = 14;
const OUTPUT_WIDTH = 16;
const END_WIDTH = 8;
/** Room for a consumer's name at the right. */
const NAME_ROOM = 66;

/** Pixels that stand for a number of bytes: 14 more for each factor of ten above a hundred bytes. */
export function bandHeight(bytes: number): number {
  const height = MIN_HEIGHT + 14 * Math.log10(Math.max(bytes, 1) / 100);
  return Math.round(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, height)));
}

/** Places a call in a picture of `width` pixels. */
export function layoutFlow(call: ToolCallView, width: number): Flow {
  const all = outputsOf(call);
  const outputs = all.slice(0, MOST_OUTPUTS);
  const middle = Math.round(width * 0.44);
  const right = width - NAME_ROOM - END_WIDTH;
  const flow: Flow = { width, height: 0, bands: [], nodes: [], labels: [], stops: [], sentences: [] };

  const placed: Array<{ output: Output; y: number; height: number }> = [];
  let y = 0;
  for (const output of outputs) {
    const height = heightOf(output);
    placed.push({ output, y: y + LABEL_HEIGHT, height });
    y += LABEL_HEIGHT + height + ROW_GAP;
  }
  const bottom = Math.max(y - ROW_GAP, 64);

  const present = placed.filter(({ output }) => output.handle !== null);
  const toolHeight = Math.max(
    present.reduce((sum, { output }) => sum + bandHeight(output.bytes), 0) + 2 * Math.max(0, present.length - 1),
    32,
  );
  const toolTop = Math.round(Math.max(0, (bottom + LABEL_HEIGHT - toolHeight) / 2));
  flow.nodes.push({ id: "tool", x: 0, y: toolTop, width: END_WIDTH, height: toolHeight, color: "tool", hollow: false });
  flow.labels.push({ id: "tool", x: 0, y: toolTop + toolHeight + 16, text: call.server_name, tone: "mute" });
  flow.height = Math.max(bottom, toolTop + toolHeight + 20) + 4;

  let from = toolTop;
  for (const { output, y: top, height } of placed) {
    const color = output.withheld !== null && output.edges.length === 0 ? "withheld" : output.color;
    flow.nodes.push({ id: output.id, x: middle, y: top, width: OUTPUT_WIDTH, height, color, hollow: output.handle === null });
    flow.labels.push({ id: output.id, x: middle, y: top - 6, text: output.label, tone: "mute" });
    if (output.handle === null) {
      absent(flow, output, middle + OUTPUT_WIDTH, top + height / 2, call.state.kind);
      continue;
    }
    const thick = bandHeight(output.bytes);
    const into = top + (height - thick) / 2;
    flow.bands.push({
      id: `in ${output.id}`,
      path: ribbon(END_WIDTH, from, middle, into, thick, thick),
      color,
      handle: output.handle,
      label: `${output.label}, ${formatBytes(output.bytes)}, came from ${call.server_name}`,
      broken: color === "withheld",
    });
    from += thick + 2;
    if (output.withheld !== null) stop(flow, output, output.withheld, middle + OUTPUT_WIDTH, top + height / 2);
  }
  consumers(flow, placed, middle + OUTPUT_WIDTH, right);
  if (all.length > outputs.length) {
    const text = `and ${all.length - outputs.length} more outputs, not drawn`;
    flow.labels.push({ id: "more", x: middle, y: flow.height + 12, text, tone: "mute" });
    flow.sentences.push(text);
    flow.height += 20;
  }
  return flow;
}

function consumers(flow: Flow, placed: Array<{ output: Output; y: number; height: number }>, left: number, right: number): void {
  let floor = 0;
  for (const consumer of CONSUMER_ORDER) {
    const incoming = placed.flatMap(({ output, y, height }) => {
      const sum = output.edges.reduce((total, edge) => total + bandHeight(edge.bytes), 0);
      let top = y + (height - sum) / 2;
      return output.edges.flatMap((edge) => {
        const thick = bandHeight(edge.bytes);
        const start = top;
        top += thick;
        return edge.consumer === consumer ? [{ output, edge, start, thick }] : [];
      });
    });
    if (incoming.length === 0) continue;
    const height = incoming.reduce((total, { thick }) => total + thick, 0);
    const centre = incoming.reduce((total, { start, thick }) => total + start + thick / 2, 0) / incoming.length;
    const top = Math.round(Math.max(floor, centre - height / 2));
    const color = consumerColor(consumer);
    flow.nodes.push({ id: consumer, x: right, y: top, width: END_WIDTH, height, color, hollow: false });
    const bytes = incoming.reduce((total, { edge }) => total + edge.bytes, 0);
    const name = { x: right + END_WIDTH + 6 };
    flow.labels.push({ id: consumer, ...name, y: top + height / 2 - 2, text: capital(consumerLabel(consumer)), tone: "ink" });
    flow.labels.push({ id: `${consumer} bytes`, ...name, y: top + height / 2 + 12, text: formatBytes(bytes), tone: "mute" });
    let into = top;
    for (const { output, edge, start, thick } of incoming) {
      const sentence = `${output.label}, ${formatBytes(edge.bytes)}, went to ${consumerLabel(consumer)} ${edge.how} (${edge.door})`;
      flow.sentences.push(sentence);
      flow.bands.push({
        id: `${output.id} to ${consumer} ${edge.handle}`,
        path: ribbon(left, start, right, into, thick, thick),
        color: output.color,
        handle: edge.handle,
        label: sentence,
        broken: false,
      });
      into += thick;
    }
    floor = top + Math.max(height, 30) + 6;
    flow.height = Math.max(flow.height, top + Math.max(height, 30) + 4);
  }
}

function stop(flow: Flow, output: Output, withheld: { rule: string | null; why: string }, x: number, y: number): void {
  flow.stops.push({ id: output.id, x1: x + 8, x2: x + 42, y });
  const title = withheld.rule === null ? "withheld" : `withheld, ${withheld.rule}`;
  const at = { x: x + 52 };
  flow.labels.push({ id: `${output.id} withheld`, ...at, y: y - 3, text: title, tone: "bad" });
  flow.labels.push({ id: `${output.id} size`, ...at, y: y + 11, text: `reached nobody, ${formatBytes(output.bytes)}`, tone: "mute" });
  flow.sentences.push(`${output.label}, ${formatBytes(output.bytes)}, was ${title} and reached nobody: ${withheld.why}`);
}

function absent(flow: Flow, output: Output, x: number, y: number, state: ToolCallView["state"]["kind"]): void {
  const waiting = isOpen(state);
  const text = waiting ? "asked for, not here yet" : "asked for, did not come";
  flow.labels.push({ id: `${output.id} absent`, x: x + 10, y: y + 4, text, tone: waiting ? "mute" : "bad" });
  flow.sentences.push(`${output.label} was ${text}`);
}

function outputsOf(call: ToolCallView): Output[] {
  const outputs = new Map<string, Output>();
  for (const delivery of call.deliveries) {
    // Where local policy decided, each consumer has a way of its own.
    const id = delivery.chip === null ? `${delivery.what} ${delivery.consumer}` : chipId(delivery.chip);
    const output = outputs.get(id) ?? {
      id,
      label: delivery.chip === null ? sourceLabel(delivery.what) : chipLabel(delivery.chip),
      color: delivery.chip?.color ?? consumerColor(delivery.consumer),
      bytes: 0,
      handle: delivery.handle,
      edges: [],
      withheld: null,
    };
    output.bytes = Math.max(output.bytes, delivery.bytes);
    output.edges.push(delivery);
    outputs.set(id, output);
  }
  const known = new Set(outputs.keys());
  for (const chip of call.requested) {
    const id = chipId(chip);
    const came = known.has(id) || call.withheld.some((withheld) => withheld.chip !== null && chipId(withheld.chip) === id);
    if (!came) outputs.set(id, { id, label: chipLabel(chip), color: chip.color, bytes: 0, handle: null, edges: [], withheld: null });
  }
  call.withheld.forEach((withheld, index) => {
    const id = `withheld ${index}`;
    const label = withheld.chip === null ? withheld.what : chipLabel(withheld.chip);
    outputs.set(id, {
      id,
      label,
      color: withheld.chip?.color ?? "other",
      bytes: withheld.bytes,
      handle: withheld.handle,
      edges: [],
      withheld: { rule: withheld.rule, why: withheld.why },
    });
  });
  return [...outputs.values()].sort((a, b) => rank(a) - rank(b));
}

function rank(output: Output): number {
  if (output.withheld !== null) return 10;
  const first = output.edges[0]?.consumer;
  return first === undefined ? 5 : CONSUMER_ORDER.indexOf(first);
}

function heightOf(output: Output): number {
  const sum = output.edges.reduce((total, edge) => total + bandHeight(edge.bytes), 0);
  // A withheld output needs room for its two lines of words.
  return Math.max(bandHeight(output.bytes), sum, output.withheld === null ? 0 : 24);
}

function chipId(chip: AudienceChip): string {
  return `${chip.audience}/${chip.format}`;
}

/** An audience and a format as the picture names them; an extension by its last part, as its colour says the rest. */
export function chipLabel(chip: AudienceChip): string {
  const name = chip.color === "view" ? "view" : chip.audience;
  return `${name} / ${chip.format}`;
}

/** A part of a result without an audience; an entry of `_meta` without its long key. */
function sourceLabel(what: string): string {
  return what.startsWith("_meta ") ? "_meta" : what;
}

function ribbon(x1: number, y1: number, x2: number, y2: number, thick1: number, thick2: number): string {
  const bend = Math.round((x1 + x2) / 2);
  const at = (value: number): string => String(Math.round(value * 10) / 10);
  return (
    `M${x1} ${at(y1)}C${bend} ${at(y1)} ${bend} ${at(y2)} ${x2} ${at(y2)}` +
    `V${at(y2 + thick2)}C${bend} ${at(y2 + thick2)} ${bend} ${at(y1 + thick1)} ${x1} ${at(y1 + thick1)}z`
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
