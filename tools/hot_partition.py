"""A picture of a table's partitions at one second: served, available and refused units of each.

tools/demo.py --picture FILE draws its measurements. The picture has a light and a dark form, by the reader's
preference.
"""

WIDTH, ROW, BAR, TOP, LEFT = 840, 30, 16, 76, 124
STYLE = """<style>
svg { background: #ffffff; font: 14px system-ui, sans-serif }
text { fill: #1f2328 } .dim { fill: #59636e } .head { font-size: 17px; font-weight: 600 }
.room { fill: #d8dee4 } .used { fill: #0969da } .refused { fill: #cf222e } .hot { fill: #cf222e; font-weight: 600 }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117 } text { fill: #e6edf3 } .dim { fill: #9198a1 }
.room { fill: #30363d } .used { fill: #4493f8 } .refused { fill: #f85149 } .hot { fill: #f85149 }
}
</style>"""


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def box(x, y, width, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{BAR}" rx="2" class="{kind}"/>'


def row_boxes(row, y, scale, most):
    refused = sum(row["throttled"].values())
    room = max(row["allocated"], row["consumed"])
    hot = refused >= 1
    lines = [text(LEFT - 12, y + BAR - 3, f"partition {row['partition']}", "hot" if hot else "", "end"),
             box(LEFT, y, room * scale, "room"), box(LEFT, y, row["consumed"] * scale, "used")]
    if hot:
        lines.append(box(LEFT + room * scale + 2, y, refused * scale, "refused"))
        words = f"{refused:,.0f}/s refused: {most}"
        lines.append(text(LEFT + (room + refused) * scale + 8, y + BAR - 3, words, "hot"))
    else:
        lines.append(text(LEFT + room * scale + 8, y + BAR - 3,
                          f"{row['consumed']:,.0f}/s used, {row['allocated'] - row['consumed']:,.0f}/s idle", "dim"))
    return lines


def draw(rows, headline, names):
    """SVG. `names`: what people call the reasons."""
    rows = sorted(rows, key=lambda row: row["partition"])
    refused = sum(sum(row["throttled"].values()) for row in rows)
    idle = sum(max(0, row["allocated"] - row["consumed"]) for row in rows)
    widest = max(max(row["allocated"], row["consumed"]) + sum(row["throttled"].values()) for row in rows)
    scale = (WIDTH - LEFT - 320) / max(widest, 1)
    height = TOP + ROW * len(rows) + 44
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
             STYLE,
             text(16, 28, f"{refused:,.0f} writes/s refused, while {idle:,.0f} units/s of the same table are idle", "head"),
             text(16, 50, headline, "dim")]
    for n, row in enumerate(rows):
        reason = max(row["throttled"], key=row["throttled"].get, default="")
        lines += row_boxes(row, TOP + ROW * n, scale, names.get(reason, reason))
    y = TOP + ROW * len(rows) + 8
    for x, kind, words in ((LEFT, "used", "served"), (LEFT + 90, "room", "allocated, idle"),
                           (LEFT + 240, "refused", "refused")):
        lines += [f'<rect x="{x}" y="{y}" width="12" height="12" rx="2" class="{kind}"/>',
                  text(x + 18, y + 11, words, "dim")]
    return "\n".join(lines + ["</svg>", ""])
