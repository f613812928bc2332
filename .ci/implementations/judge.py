"""wirelap's figures beside the programs' own, and the table of both."""

CELLS = {"first": "wirelap live, first", "late": "wirelap live, late", "capture": "from a capture"}
TRUST = ["good", "reduced", "unusable"]


def figures(report, rows, own_topics=()):
    """What wirelap says of a protocol, without topics that the library has for itself; rows of other protocols that have messages are named."""
    said = {"sent": 0, "delivered": 0, "followed": 0, "duplicates": 0, "trust": "good", "reasons": [], "rows": [], "counts": [], "others": []}
    for result in report["results"]:
        messages, name = result["messages"], result["middleware"]
        is_own = any(name == row or name.startswith(f"{row}-") for row in rows.split())
        if messages["sent"] + messages["delivered"] == 0 and result["trust"]["verdict"] == "good" and not is_own:
            continue
        if not is_own:
            said["others"].append(f"{name} {messages['sent']}/{messages['delivered']}")
            continue
        said["rows"].append(result.get("broker") or name)
        said["counts"].append([messages["sent"], messages["delivered"]])
        said["sent"] += messages["sent"]
        said["delivered"] += messages["delivered"]
        said["followed"] += messages["matched"]
        said["duplicates"] += messages["duplicates"]
        trust = result["trust"]
        said["trust"] = max(said["trust"], trust["verdict"], key=rank)
        said["reasons"] += [reason["text"] if isinstance(reason, dict) else str(reason) for reason in trust.get("reasons", [])]
    for row in (report.get("breakdown") or {}).get("rows", []):
        if row["names"][0] in own_topics:
            for figure, name in (("sent", "sent"), ("delivered", "delivered"), ("followed", "matched")):
                said[figure] -= row[name]
    unknown = report.get("unknown") or {}
    said["unknown"] = [one["sentence"] for one in unknown.get("traffic", [])][:4]
    return said


def rank(trust):
    return TRUST.index(trust) if trust in TRUST else len(TRUST)


def judged(said, truth, options, cell):
    """One of: right; right, doubted; not all followed; not decoded; wrong, doubted; WRONG (the counts are, and nothing says so)."""
    if not said["rows"] and not said["others"]:
        return "not decoded" if said["unknown"] else "WRONG"
    # What a program got beyond what was published for it came twice, if it cannot tell itself.
    twice = truth.get("twice") or max(0, truth["delivered"] - truth["sent"] * int(options["subscribers"]))
    true = [truth["sent"], truth["delivered"] - twice]
    # Packets do not tell a relay from another broker: each port is a row of its own.
    counts = said["counts"] if cell == "capture" and int(options.get("relays", 0)) else [[said["sent"], said["delivered"]]]
    are_right = all(count == true for count in counts) and said["duplicates"] >= twice and not said["others"]
    is_trusted = said["trust"] == "good"
    if not are_right:
        return "WRONG" if is_trusted else "wrong, doubted"
    if not is_trusted:
        return "right, doubted"
    return "right" if said["followed"] == said["delivered"] else "not all followed"


def table(rows, cells):
    """The rows in Markdown."""
    named = [f"{CELLS[cell]}: sent / delivered / followed, trust" for cell in cells]
    lines = [
        "# Implementations beside wirelap, row by row",
        "",
        f"How this is made and what the words mean: [0035-implementations.md](0035-implementations.md). {len(rows)} rows; cells: {summary(rows, cells)}.",
        "",
        "| protocol | server | publisher | subscriber | programs: sent / delivered | " + " | ".join(named) + " |",
        "|" + "---|" * (5 + len(named)),
    ]
    for row in rows:
        lines.append("| " + " | ".join([*parties(row), *told(row, cells)]) + " |")
    return "\n".join(lines) + "\n"


def parties(row):
    options = " ".join(f"{name}={value}" for name, value in row["extra"].items())
    return [
        f"{row['protocol']} {options}".strip(),
        *(f"{row[role]} {row['versions'].get(row[role], '')}".strip() if row[role] else "–" for role in ("server", "publisher", "subscriber")),
    ]


def told(row, cells):
    if row.get("fault"):
        first = row["fault"].splitlines()[0][:200].replace("|", "/")
        return [f"did not run: {first}", *["–"] * len(cells)]
    truths = {cell: row["cells"][cell]["truth"] for cell in cells}
    twice = {cell: f", {truth['twice']} twice" if truth.get("twice") else "" for cell, truth in truths.items()}
    parts = list(dict.fromkeys(f"{truth['sent']} / {truth['delivered']}{twice[cell]}" for cell, truth in truths.items()))
    return [", ".join(parts), *(cell_text(row["cells"][cell]) for cell in cells)]


def cell_text(cell):
    said, judgement = cell["said"], cell["judgement"]
    text = f"{said['sent']} / {said['delivered']} / {said['followed']}, {said['trust'] if said['rows'] else 'no row'}"
    if said["duplicates"]:
        text += f", {said['duplicates']} twice"
    if said["others"]:
        text += f", also {', '.join(said['others'])}"
    return text if judgement == "right" else f"{text}: **{judgement}**"


def summary(rows, cells):
    """How many cells came to which judgement."""
    counts = {}
    for row in rows:
        for cell in cells:
            key = "did not run" if row.get("fault") else row["cells"][cell]["judgement"]
            counts[key] = counts.get(key, 0) + 1
    return ", ".join(f"{count} {key}" for key, count in sorted(counts.items(), key=lambda pair: -pair[1]))
