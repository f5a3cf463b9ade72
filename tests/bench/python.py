"""The benchmark's client with the Python SDK, which validates against the outputSchema by itself."""

import asyncio
import json
import statistics
import sys
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def memory(line):
    with open("/proc/self/status") as status:
        found = next(it for it in status if it.startswith(line))
    return int(found.split()[1]) / 1024


async def main():
    count, calls, command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        # The SDK validates only what it has seen declared.
        await session.list_tools()
        idle = memory("VmRSS:")
        times, pings = [], []
        for call in range(int(calls) + 1):
            sent = time.perf_counter()
            await session.send_ping()
            pings.append(time.perf_counter() - sent)
            sent = time.perf_counter()
            result = await session.call_tool("rows", {"count": int(count)})
            took = time.perf_counter() - sent
            structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
            assert len(structured["rows"]) == int(count), "other rows came"
            # The first call pays for what the later ones find ready.
            if call > 0:
                times.append(took)
        figures = {
            "median_ms": statistics.median_high(times) * 1000,
            "ping_ms": statistics.median_high(pings) * 1000,
            "peak_rss_mb": memory("VmHWM:"),
            "idle_rss_mb": idle,
        }
        print(json.dumps(figures))


asyncio.run(main())
