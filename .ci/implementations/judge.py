"""wirelap's figures beside the programs' own, and what they come to."""

# wirelap attached before the programs start, once the clients are connected, and not at all: from a capture.
CELLS = ["first", "late", "capture"]
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


def summary(rows, cells):
    """How many cells came to which judgement."""
    counts = {}
    for row in rows:
        for cell in cells:
            key = "did not run" if row.get("fault") else row["cells"][cell]["judgement"]
            counts[key] = counts.get(key, 0) + 1
    return ", ".join(f"{count} {key}" for key, count in sorted(counts.items(), key=lambda pair: -pair[1]))
