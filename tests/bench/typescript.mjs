// The benchmark's client with the TypeScript SDK, which validates against the outputSchema by itself.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [count, calls, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "bench", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
// The SDK validates only what it has seen declared.
await client.listTools();
const idle = memory("VmRSS:");
const times = [];
const pings = [];
for (let call = 0; call <= Number(calls); call++) {
  let sent = performance.now();
  await client.ping();
  pings.push(performance.now() - sent);
  sent = performance.now();
  const result = await client.callTool({ name: "rows", arguments: { count: Number(count) } }, undefined, { timeout: 600_000 });
  const took = performance.now() - sent;
  if (result.structuredContent?.rows?.length !== Number(count)) throw new Error("other rows came");
  // The first call pays for what the later ones find ready.
  if (call > 0) times.push(took);
}
console.log(JSON.stringify({ median_ms: median(times), ping_ms: median(pings), peak_rss_mb: memory("VmHWM:"), idle_rss_mb: idle }));
await client.close();

function median(all) {
  return all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
}

function memory(line) {
  const status = readFileSync("/proc/self/status", "utf8").split("\n");
  return Number(status.find((it) => it.startsWith(line)).replace(/\D/g, "")) / 1024;
}
