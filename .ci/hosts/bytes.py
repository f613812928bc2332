"""Bytes that an agent sends for each half-leg: one message on one side of a connection.

    bytes.py [--messages 8000] [--rate 400] [--payload 64] [--random] [--wirelap PROGRAM] [MIDDLEWARE…]

Three hosts in a row, h1 — h2 — h3, as network namespaces: a publisher, a broker and a subscriber of `workload.py`. Each packet is seen when it leaves a host and when it
arrives at one, as between machines. `wirelap live` starts an agent in each; they share a kernel, so one agent sends what all see. `wirelap record --payload` runs
beside it, for its CPU time on the same traffic. Prints the programs' counts and wirelap's, the bytes for each half-leg as plain records and as they were sent, and the
CPU times. Ends with 1 if a count is wrong. Root.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = ["h1", "h2", "h3"]
BROKER = "10.78.3.2"
ON = '#!/bin/sh\nexec setsid -w ip netns exec "$1" sh -c "$2"\n'
SSH = f"#!/bin/sh\necho hostname {BROKER}\n"
PORTS = "21883,24222,29092,27447"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def make_hosts():
    """The names are gone with this process: they are in a mount namespace of its own."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    for host in HOSTS:
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
    for number, host in [(1, "h1"), (3, "h3")]:
        link = f"eth{number}"
        ip("link", "add", "name", link, "netns", host, "type", "veth", "peer", "name", link, "netns", "h2")
        for at, last in [(host, number), ("h2", 2)]:
            ip("-n", at, "address", "add", f"10.78.{number}.{last}/24", "dev", link)
            ip("-n", at, "link", "set", link, "up")
        ip("-n", host, "route", "add", "default", "via", f"10.78.{number}.2")
    subprocess.run(["ip", "netns", "exec", "h2", "sysctl", "-qw", "net.ipv4.ip_forward=1"], check=True)


def end(process):
    """Ends a wirelap. Returns its CPU time in ns, its processes' included."""
    process.send_signal(signal.SIGINT)
    _, _, used = os.wait4(process.pid, 0)
    return (used.ru_utime + used.ru_stime) * 1e9


def measure(chosen, middleware, folder):
    out = open(folder / "said", "w")
    via = [word for host in HOSTS for word in ("--via", f"ip netns exec {host}")]
    shared = ["--force", "--ports", PORTS]
    live = subprocess.Popen([chosen.wirelap, "live", "--plain", "--not-here", "--json", folder / "report", *via, *shared], stdout=out, stderr=out)
    record = subprocess.Popen([chosen.wirelap, "record", "--payload", "-o", folder / "recording", *shared], stdout=out, stderr=out)
    time.sleep(chosen.settle)
    options = ["--hosts", ",".join(HOSTS), "--rate", str(chosen.rate), "--messages", str(chosen.messages), "--payload", str(chosen.payload)]
    options += ["--random"] if chosen.random else []
    worked = subprocess.run([sys.executable, HERE / "workload.py", *options, middleware], stdout=subprocess.PIPE, text=True, check=True)
    counts = json.loads(worked.stdout.splitlines()[-1])
    time.sleep(3)
    end(live)
    recorded = end(record)
    report = json.loads((folder / "report").read_text())
    rows = [row["messages"] for row in report["results"] if (row["messages"]["sent"] or 0) >= counts["sent"] / 2]
    seen = [rows[0].get(name) for name in ("sent", "delivered", "matched")] if rows else []
    half_legs = 2 * (counts["sent"] + counts["received"])
    plain, sent = (sum(host[name] for host in report["hosts"]) for name in ("record_bytes", "bytes"))
    # The others rest.
    used = max(host["agent_cpu_ns"] for host in report["hosts"])
    print(f"{middleware}: programs {counts['sent']}, {counts['received']}; wirelap {seen}; {plain / half_legs:.1f} B a half-leg as records, {sent / half_legs:.1f} B sent;")
    print(f"  CPU: agent {used / 1e9:.2f} s, record {recorded / 1e9:.2f} s, {used / recorded:.2f} of that", flush=True)
    return seen == [counts["sent"], counts["received"], counts["received"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("middleware", nargs="*", default=["mosquitto", "mqtt", "nats"])
    parser.add_argument("--messages", type=int, default=8000)
    parser.add_argument("--rate", type=float, default=400)
    parser.add_argument("--payload", type=int, default=64)
    parser.add_argument("--random", action="store_true", help="payloads of random digits, of mosquitto's clients")
    parser.add_argument("--settle", type=float, default=4, help="seconds before the workload begins")
    parser.add_argument("--wirelap", default=os.environ.get("WIRELAP", "wirelap"))
    chosen = parser.parse_args()
    if os.environ.get("BYTES_OF") != str(os.getpid()):
        os.environ["BYTES_OF"] = str(os.getpid())
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    make_hosts()
    is_right = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        for program, text in [("on", ON), ("ssh", SSH)]:
            (folder / "bin" / program).write_text(text)
            (folder / "bin" / program).chmod(0o755)
        (folder / "bin" / "wirelap").symlink_to(os.path.realpath(chosen.wirelap))
        os.environ.update(PATH=f"{folder}/bin:{os.environ['PATH']}", FOLDER=name)
        for middleware in chosen.middleware:
            is_right &= measure(chosen, middleware, folder)
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
