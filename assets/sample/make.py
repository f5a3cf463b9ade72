#!/usr/bin/env python3
"""Makes the data of the sample server again: the customers, the two pictures and the chime. Needs Pillow.

Everything is drawn from fixed seeds, so that a second run changes nothing. None of it is a real person or company.
"""

import io
import json
import math
import random
import struct
import sys
import wave
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).parent
REGIONS = {
    "NA": ["Seattle, US", "Austin, US", "Toronto, CA", "Denver, US", "Montréal, CA", "Boston, US"],
    "EMEA": ["Berlin, DE", "Lyon, FR", "Málaga, ES", "Leeds, GB", "Kraków, PL", "Nairobi, KE", "Göteborg, SE"],
    "APAC": ["Osaka, JP", "Pune, IN", "Perth, AU", "Busan, KR", "Taipei, TW", "Hà Nội, VN"],
    "LATAM": ["São Paulo, BR", "Medellín, CO", "Córdoba, AR", "Mérida, MX", "Valparaíso, CL"],
}
GLOBEX = """Retail Energy Labs Logistics Robotics Health Foods Marine Aviation Mining Textiles Pharma Optics Cement
Media Bank Insurance Rail Telecom Water Farms Timber Steel Plastics Paper Glass Toys Motors Ceramics Cosmetics Films
Games Hotels Chemicals Solar Nuclear Security""".split()
FAMILIES = """Halvorsen Brightwater Quillon Tessaly Ormund Kestrelworks Pinefold Larkspur Vantor Mirabeau Solvane
Undertow Cobaltine Fernhill Oakmere Zephyrine Calderon Inkwell Juniper Nordlys Palisade Rookhaven Saffron Thistledown
Umbra Velorum Wexcombe Yarrow Amberline Bellweather Copperfield Driftwood""".split()
TRADES = "Foods Systems Freight Textiles Clinics Optics Mills Studios Pumps Ledger Seeds Tools".split()
PEOPLE = "Ada Noor|Bao Linh|Chiara Fonte|Dmitri Vale|Eun-ji Park|Farid Amin|Greta Lund|Hugo Sá|Imani Otieno|Jürgen Weiß".split("|")
NOTES = [
    "Renewal is due next quarter.", "Asked for an invoice in two currencies.", "Pilot in one warehouse.",
    "Prefers a call in the morning.", "Said \"ship it\" <before> the audit & signed.", "Uses the API more than the window.",
    "Moved to the yearly plan.", "Waiting for their security review.", "Happy; may speak at our event. 😅", "",
]


def customers():
    rng = random.Random(3279)
    names = [f"Globex {it}" for it in GLOBEX]
    pairs = [f"{family} {trade}" for family in FAMILIES for trade in TRADES]
    names += rng.sample(pairs, 400 - len(names))
    # The three that were active last are always the same three.
    first = {"Globex Retail": 0, "Globex Energy": 1, "Globex Labs": 2}
    rng.shuffle(names)
    start = datetime(2026, 11, 27, 21, 10, tzinfo=timezone.utc)
    records = []
    for index, name in enumerate(names):
        region = rng.choices(list(REGIONS), [38, 31, 21, 10])[0]
        minutes = rng.randrange(600, 400_000)
        last = start - timedelta(minutes=first.get(name, 0) * 95 if name in first else minutes)
        revenue = f"{rng.lognormvariate(12.6, 1.1):.2f}"
        records.append({
            # Beyond 2^53, where a double no longer tells neighbours apart.
            "id": 9007199254740993 + 2 * index,
            "customerId": f"cust_{1042 + 7 * index}",
            "name": name,
            "region": region,
            "city": rng.choice(REGIONS[region]),
            "plan": rng.choices(["Starter", "Team", "Enterprise"], [5, 4, 2])[0],
            "owner": rng.choice(PEOPLE),
            "since": (start - timedelta(days=rng.randrange(60, 3200))).strftime("%Y-%m-%d"),
            "lastActivity": last.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "annualRevenue": revenue,
            "openTickets": rng.choices([0, 1, 2, 3, 7], [60, 20, 10, 6, 4])[0],
            "isActive": rng.random() > 0.08,
            "note": rng.choice(NOTES),
        })
    lines = []
    for record in records:
        line = json.dumps(record, ensure_ascii=False)
        # A number with its two decimals, as an accountant writes it.
        lines.append(line.replace(f'"annualRevenue": "{record["annualRevenue"]}"', f'"annualRevenue": {record["annualRevenue"]}'))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def mix(a, b, t):
    return tuple(x + (y - x) * t for x, y in zip(a, b))


def ridge(x, seed, base, height):
    rng = random.Random(seed)
    y = base
    for octave in range(1, 6):
        y -= height / octave**1.4 * math.sin(x * octave * rng.uniform(0.8, 1.5) / 70 + rng.uniform(0, 6.28))
    return y


def landscape(width, height, sky, sun, sun_at, ridges, water):
    """A sun over hills and water, in bands of haze."""
    rng = random.Random(11)
    sx, sy, radius = sun_at
    rows = []
    lines = [[ridge(x, seed, base, tall) for x in range(width)] for seed, base, tall, _ in ridges]
    for y in range(height):
        for x in range(width):
            t = y / (water or height)
            stop = min(len(sky) - 2, int(t * (len(sky) - 1)))
            color = mix(sky[stop], sky[stop + 1], min(1, t * (len(sky) - 1) - stop))
            mirrored = y
            if y > water:
                mirrored = 2 * water - y + 3 * math.sin(y * 0.9 + x * 0.05)
                t = max(0, mirrored) / water
                stop = min(len(sky) - 2, int(t * (len(sky) - 1)))
                color = mix(mix(sky[stop], sky[stop + 1], t * (len(sky) - 1) - stop), sky[0], 0.35)
            reach = math.hypot(x - sx, (mirrored - sy) * (1 if y <= water else 0.55))
            color = mix(color, sun, max(0, 1 - reach / 190) ** 2 * 0.75)
            edge = min(1, max(0, radius + 0.5 - reach))
            color = mix(color, (255, 250, 225), edge if y <= water else edge * 0.6)
            for line, (_, _, _, shade) in zip(lines, ridges):
                if y <= water and y > line[x]:
                    haze = min(1, (y - line[x]) / 70)
                    color = mix(shade, mix(shade, sun, 0.35), haze * 0.6)
            if y > water:
                glint = math.sin(y * 1.7 + math.sin(x * 0.11) * 2.2) * math.exp(-abs(x - sx) / (26 + (y - water) * 0.5))
                color = mix(color, sun, max(0, glint) * 0.6)
            # A grain of one step hides the bands of a slow gradient.
            grain = rng.uniform(-0.5, 0.5)
            rows.append(tuple(max(0, min(255, round(it + grain))) for it in color))
    return rows


def pictures():
    from PIL import Image

    dawn = landscape(
        480, 320, [(38, 28, 74), (122, 55, 110), (232, 104, 86), (255, 190, 112)], (255, 196, 110), (318, 158, 24),
        [(5, 172, 26, (126, 70, 112)), (9, 190, 20, (82, 46, 92)), (2, 204, 12, (44, 30, 66))], 208,
    )
    night = landscape(
        480, 320, [(8, 14, 38), (16, 38, 78), (34, 84, 118), (122, 170, 168)], (196, 226, 224), (140, 84, 17),
        [(21, 168, 30, (44, 84, 108)), (27, 188, 22, (24, 52, 78)), (31, 206, 12, (12, 28, 50))], 212,
    )
    made = {}
    for name, pixels, options in [
        ("sunrise.png", dawn, {"optimize": True}), ("moonrise.webp", night, {"quality": 86, "method": 6}),
    ]:
        image = Image.new("RGB", (480, 320))
        image.putdata(pixels)
        out = io.BytesIO()
        image.save(out, name.rsplit(".")[1].upper(), **options)
        made[name] = out.getvalue()
    return made


def chime():
    """Three bell notes that fade, 1.4 s of mono at 16 kHz."""
    rate, seconds = 16_000, 1.4
    frames = bytearray()
    for n in range(int(rate * seconds)):
        t, value = n / rate, 0.0
        for at, pitch in [(0.0, 659.25), (0.16, 830.61), (0.32, 987.77)]:
            if t >= at:
                age = t - at
                rise = min(1, age / 0.004)
                partials = [(1, 1), (2.76, 0.32), (5.4, 0.12)]
                value += rise * sum(a * math.exp(-age * (3.2 + 2 * m)) * math.sin(2 * math.pi * pitch * m * age) for m, a in partials)
        frames += struct.pack("<h", int(max(-1, min(1, value * 0.32)) * 32767))
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(bytes(frames))
    return out.getvalue()


def main():
    files = {"customers.json": customers().encode(), "chime.wav": chime(), **pictures()}
    for name, data in files.items():
        (HERE / name).write_bytes(data)
        print(f"{name}: {len(data)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
