"""Messages between hosts that `on NAME COMMAND` reaches: a broker on the second, a publisher on the first, a subscriber on the third. Prints the programs' own counts.

    workload.py [--hosts PUBLISHER,BROKER,SUBSCRIBER] [--rate 2000] [--messages 100000] [--payload 64] [--random] MIDDLEWARE

mosquitto and its command-line clients for `mosquitto`, which virtual machines have, too; for mqtt (mosquitto), kafka, nats, zenoh (two routers: the second on
the subscriber's host) and dds (multicast, no broker) the truth lab's Python clients, of this machine's files: hosts that are network namespaces.
Each message has a number. Ports are not the usual ones: others may use those on this machine.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "wirelap"
PEER = f"export PYTHONDONTWRITEBYTECODE=1; cd {ROOT}/tracer/cli/tests/truth/lab && exec {CACHE}/truth/bin/python peer.py"
# Lines with a number, at a rate. Behind a clock's tick, several are written at once.
NUMBERS = """import os, sys, time
begun, count, rate, size = time.monotonic(), int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
for number in range(count):
    wait = begun + number / rate - time.monotonic()
    if wait > 0:
        time.sleep(wait)
    print((f"{number:08d}" + (os.urandom(size).hex() if sys.argv[5:] else "." * size))[:size], flush=True)
"""
ROUTER = """import json, sys, time, zenoh
config = zenoh.Config()
config.insert_json5("mode", '"router"')
config.insert_json5("scouting/multicast/enabled", "false")
config.insert_json5("listen/endpoints", json.dumps(["tcp/" + sys.argv[1]]))
config.insert_json5("connect/endpoints", json.dumps(["tcp/" + address for address in sys.argv[2:]]))
session = zenoh.open(config)
print("ready", flush=True)
time.sleep(86400)
"""
DDS = """<CycloneDDS><Domain><General><AllowMulticast>true</AllowMulticast></General>
<Internal><SocketReceiveBufferSize max="2MB"/></Internal></Domain></CycloneDDS>"""


class Program:
    """A command on a host, which is ended when its stdin is."""

    started = []
    # What they say of themselves.
    log = open(pathlib.Path(os.environ.get("FOLDER", "/tmp")) / "workload.log", "a")

    def __init__(self, host, command):
        self.name = f"{command[:40]}… on {host}"
        self.process = subprocess.Popen(["on", host, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=Program.log, text=True)
        self.lines, self.changed, self.over = [], threading.Condition(), False
        threading.Thread(target=self.read, daemon=True).start()
        Program.started.append(self)

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def expect(self, begin, limit=60):
        """The first line that begins so."""

        def find():
            return next((line for line in self.lines if line.startswith(begin)), None)

        with self.changed:
            self.changed.wait_for(lambda: find() or self.over, limit)
            if not (line := find()):
                raise TimeoutError(f"{self.name} did not say '{begin}' within {limit} s, but {self.lines[-3:]}")
            return line

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()


def server(host, command):
    """A program that does not read its stdin: it ends with it."""
    return Program(host, f"trap 'trap : TERM; kill 0' EXIT; {{ {command}; }} </dev/null & cat >/dev/null")


def address_of(host):
    """The address at which ssh reaches it."""
    told = subprocess.run(["ssh", "-G", host], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in told.splitlines() if line.startswith("hostname "))


def listening(host, port):
    deadline = time.monotonic() + 60
    while subprocess.run(["on", host, f"grep -qi ':{port:04x} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6"]).returncode:
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing listens at port {port} of {host}")
        time.sleep(0.5)


def broker(chosen, host, address):
    """Starts it and says its port; for DDS, there is none."""
    match chosen.middleware:
        case "mosquitto" | "mqtt":
            settings = f"listener 21883 0.0.0.0\\nallow_anonymous true\\npersistence false\\nmax_queued_messages 0\\nset_tcp_nodelay true\\nuser root\\n"
            server(host, f"printf '{settings}' >${{FOLDER:-/tmp}}/mosquitto-{host}.conf; exec mosquitto -c ${{FOLDER:-/tmp}}/mosquitto-{host}.conf")
            port = 21883
        case "nats":
            server(host, f"exec nats-server -a 0.0.0.0 -p 24222")
            port = 24222
        case "kafka":
            jars = f"{CACHE}/implementations/apache-kafka"
            edit = f"s#^listeners=PLAINTEXT://127.0.0.1#listeners=PLAINTEXT://0.0.0.0#; s#^\\(advertised.*\\)127.0.0.1#\\1{address}#"
            program = f"W=$(mktemp -d -p \"${{FOLDER:-/tmp}}\"); sed '{edit}' {ROOT}/.ci/implementations/apache-kafka/server >$W/server"
            server(host, f"{program}; cd $W; HERE={jars} WORK=$W PORT=29092 sh $W/server; rm -rf $W").expect("ready", 120)
            return 29092
        case "zenoh":
            server(host, f"exec {CACHE}/truth/bin/python -c '{quoted(ROUTER)}' 0.0.0.0:27447").expect("ready")
            return 27447
        case "dds":
            return 0
    listening(host, port)
    return port


def quoted(text):
    return text.replace("'", "'\\''")


def mosquitto(chosen, publisher, subscriber, address):
    """Its command-line clients: what they print is counted."""
    more = f"-h {address} -p 21883 -t truth -q {chosen.qos}"
    sub = server(subscriber, f"exec stdbuf -oL mosquitto_sub {more} -d -F '%p'")
    sub.expect("Subscribed")
    command = f"python3 -c '{quoted(NUMBERS)}' {chosen.messages} {chosen.rate} {chosen.payload} {'random' * chosen.random} | mosquitto_pub {more} -l"
    pub = Program(publisher, f"{command} && echo done")
    pub.expect("done", 120 + 2 * chosen.messages / chosen.rate)
    numbers, before = set(), -1
    while len(numbers) not in (before, chosen.messages):
        before = len(numbers)
        time.sleep(3)
        numbers = {line for line in sub.lines if line[:8].isdigit()}
    received = sum(line[:8].isdigit() for line in sub.lines)
    return {"sent": chosen.messages, "received": len(numbers), "again": received - len(numbers)}


def python_clients(chosen, publisher, subscriber, address, port):
    name, before, more = chosen.middleware, "", ""
    common = f"--address {address}:{port} --qos {chosen.qos}"
    ends = [common, common]
    if name == "zenoh":
        near = f"{address_of(subscriber)}:27447"
        server(subscriber, f"exec {CACHE}/truth/bin/python -c '{quoted(ROUTER)}' 0.0.0.0:27447 {address}:{port}").expect("ready")
        ends = [f"{common} --set mode=client", f"--address {near} --set mode=client"]
    elif name == "dds":
        before, more = f"export CYCLONEDDS_URI='{DDS}'; ", " --set domain=77"
    sub = Program(subscriber, f"{before}{PEER} {name} sub {ends[1]}{more}")
    sub.expect("ready", 90)
    pub = Program(publisher, f"{before}{PEER} {name} pub {ends[0]}{more} --rate {chosen.rate} --messages {chosen.messages} --payload {chosen.payload}")
    pub.expect("ready", 90)
    # Where a publisher does not know of subscribers, they get to know of it.
    time.sleep(2)
    pub.say("go")
    sent = json.loads(pub.expect("done", 120 + 3 * chosen.messages / chosen.rate).removeprefix("done "))
    sub.say("end")
    return {"sent": sent["sent"]} | json.loads(sub.expect("done", 120).removeprefix("done "))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("middleware", choices=["mosquitto", "mqtt", "kafka", "nats", "zenoh", "dds"])
    parser.add_argument("--hosts", default=",".join(os.environ.get("HOSTS", "").split()[:3]))
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--payload", type=int, default=64)
    parser.add_argument("--qos", type=int, default=0)
    parser.add_argument("--random", action="store_true", help="payloads of random digits, of mosquitto's clients")
    chosen = parser.parse_args()
    publisher, second, subscriber = chosen.hosts.split(",")
    try:
        address = address_of(second)
        port = broker(chosen, second, address)
        run = mosquitto if chosen.middleware == "mosquitto" else python_clients
        counts = run(chosen, publisher, subscriber, address, *([port] if run is python_clients else []))
        print(json.dumps(counts), flush=True)
    finally:
        for program in reversed(Program.started):
            program.end()


if __name__ == "__main__":
    main()
