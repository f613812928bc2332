"""Runs `wirelap live` for three hosts of `guests` or `namespaces` beside `workload.py`, and judges what it says by what the programs and the clocks say.

    guests judge.py [--runs N] [--collector here|away] [--messages N] [--rate R] MIDDLEWARE

The last three of HOSTS publish, have the broker, and subscribe, in this order; those that this process does not run on are observed by ssh. A line for each run:
the programs' counts and wirelap's; how far each clock is said to be ahead and its largest error; how far that is from the truth (`mark` in guests; namespaces have one clock);
the smallest round trip that TCP knows of on this host. Ends with 1 if a count is wrong, a clock is not within its error, or the error is above 1.5 smallest round trips.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import truth  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def smallest_round_trip(host):
    """Of all connections to a host, in ns."""
    told = subprocess.run(["ssh", "-G", host], capture_output=True, text=True, check=True).stdout
    address = next(line.split()[1] for line in told.splitlines() if line.startswith("hostname "))
    said = subprocess.run(["ss", "-tin", "dst", address], capture_output=True, text=True, check=True).stdout
    return min((int(float(ms) * 1e6) for ms in re.findall(r"minrtt:([0-9.]+)", said)), default=None)


def observe(chosen, remote, folder):
    """Starts wirelap. Returns it, and the time until it said the first line."""
    hosts = [word for host in remote for word in ("--host", host)]
    command = [chosen.wirelap, "live", "--plain", "--force", "--json", f"{folder}/report.json", *hosts, *chosen.option]
    if chosen.collector == "away":
        command.append("--not-here")
    if chosen.ports:
        command += ["--ports", chosen.ports]
    said = open(f"{folder}/live", "w")
    process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
    begun = time.monotonic()
    while process.poll() is None and not os.path.getsize(f"{folder}/live") and time.monotonic() < begun + 30:
        time.sleep(0.05)
    return process, time.monotonic() - begun


def judge_clock(host, ended, folder):
    """How far what is said of a host's clock is from the truth, as words, and whether the truth is within."""
    clock = host.get("clock")
    if not clock and not os.environ.get("NAT") and re.fullmatch(r"h\d", host["name"]):
        return "the clock of this host", True
    if not clock or clock.get("stepped"):
        return "clock not known", False
    offset, error = clock["offset_ns"], clock["at_most_ns"]
    low, high = 0, 0
    marks = pathlib.Path(folder, host["name"])
    if marks.exists():
        with open(marks) as file:
            low, high = truth.true_offset(truth.read(file), ended + offset)
        if low is None:
            return f"{offset} ± {error}, nothing was marked then", False
    is_within = offset - error <= low and high <= offset + error
    return f"± {error / 1e3:.1f} µs, truly off by {offset / 1e3 - (low + high) / 2e3:+.1f} µs, {clock['samples']} samples", is_within


def run_once(chosen, publisher, broker, subscriber, remote, folder):
    markers = [subprocess.Popen(["ssh", host, "exec mark"], stdout=open(f"{folder}/{host}", "w")) for host in remote if re.fullmatch(r"g\d", host)]
    live, first = observe(chosen, remote, folder)
    time.sleep(chosen.settle)
    command = [sys.executable, HERE / "workload.py", "--hosts", f"{publisher},{broker},{subscriber}", "--rate", str(chosen.rate), "--messages", str(chosen.messages), chosen.middleware]
    worked = subprocess.run(command, capture_output=True, text=True)
    counts = json.loads(worked.stdout.splitlines()[-1]) if worked.returncode == 0 else {"failed": worked.stderr[-300:]}
    time.sleep(3)
    round_trips = {host: smallest_round_trip(host) for host in remote}
    ended = time.monotonic_ns()
    live.send_signal(signal.SIGINT)
    try:
        live.wait(30)
    except subprocess.TimeoutExpired:
        live.kill()
        print("  wirelap did not end within 30 s")
    time.sleep(5 if markers else 0)
    for marker in markers:
        marker.terminate()
    wrong = []
    with open(f"{folder}/report.json") as file:
        report = json.load(file)
        result = report["results"]
    rows = [row for row in result if (row["messages"]["sent"] or 0) >= counts.get("sent", 1) / 2]
    messages = rows[0]["messages"] if rows else {}
    shown = " ".join(f"{name} {messages.get(name)}" for name in ("sent", "delivered", "matched"))
    if [messages.get(name) for name in ("sent", "delivered", "matched")] != [counts.get("sent"), counts.get("received"), counts.get("received")]:
        wrong.append("counts")
    if "failed" in counts:
        wrong.append("workload")
        print(f"  the workload failed: {counts['failed']}")
    print(f"{chosen.middleware}: programs {counts.get('sent')}, {counts.get('received')}; wirelap {shown}; first lines after {first:.1f} s")
    for host in report.get("hosts", []):
        if host["host"] == 1:
            continue
        words, is_within = judge_clock(host, ended, folder)
        smallest = round_trips.get(host["name"])
        at_most = (host.get("clock") or {}).get("at_most_ns")
        if not is_within:
            wrong.append(f"clock of {host['name']}")
        if smallest and at_most and at_most > 1.5 * smallest:
            wrong.append(f"error of {host['name']}")
        per_message = host["bytes"] / max(1, counts.get("sent") or 1)
        print(f"  {host['name']}: {host['status']}, {words}; smallest round trip {(smallest or 0) / 1e3:.0f} µs; {per_message:.0f} B a message, {host['events_lost']} lost, {host['events_late']} late, CPU {host['agent_cpu_share']:.2f}")
    print("  wrong: " + ", ".join(wrong) if wrong else "  right", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("middleware")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--collector", choices=["here", "away"], default="here", help="away: this host is not observed")
    parser.add_argument("--messages", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--settle", type=float, default=4, help="seconds before the workload begins")
    parser.add_argument("--ports", default="", help="what wirelap is confined to")
    parser.add_argument("--hosts", default=" ".join(os.environ["HOSTS"].split()[:3]))
    parser.add_argument("--option", action="append", default=[], help="one more of wirelap")
    parser.add_argument("--wirelap", default=os.environ.get("WIRELAP", "wirelap"))
    parser.add_argument("--keep", help="a folder for what each run wrote")
    chosen = parser.parse_args()
    hosts = chosen.hosts.split()
    remote = [host for host in hosts if chosen.collector == "away" or host != "hub"]
    wrong = []
    for number in range(chosen.runs):
        folder = tempfile.mkdtemp() if not chosen.keep else f"{chosen.keep}/{number}"
        os.makedirs(folder, exist_ok=True)
        wrong += run_once(chosen, *hosts, remote, folder)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
