#!/usr/bin/env bash
# Eclipse Mosquitto 2.0.11 (MQTT broker, Debian 12): each acknowledgement lets it send a whole
# window of queued messages; a subscriber that allows 5 gets 17.
#
# One would expect: the broker sends no more messages of QoS 1 and 2 than its
# max_inflight_messages without an acknowledgement, and with MQTT 5 it must not send more than
# the Receive Maximum that the subscriber's CONNECT states (3.1.2.11.3, 3.3.4, 4.9). One
# acknowledgement makes room for one.
#
# Seen: at the acknowledgement of the oldest message the broker fills the window as if
# nothing else were in it: N for each one, so N - 1 more are on their way each time, until the
# queue is empty. Only a window of 1 is kept. What should keep a slow subscriber from being
# flooded does so only before its first acknowledgement, and what waits moves from
# the broker's queue into the subscriber's receive buffer. Mosquitto 2.0.13 (2021) put it
# right (checked with 2.0.22); Debian 12 has 2.0.11.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

not_tried() { tail -n 3 log || true; echo "not tried: $1"; exit 2; }

apt-get download mosquitto=2.0.11-1.2+deb12u2 libdlt2=2.18.8-6 libwrap0=7.6.q-32 >log 2>&1 ||
    not_tried "Debian's packages could not be fetched"
for package in *.deb; do dpkg -x "$package" broker; done
export LD_LIBRARY_PATH="$dir/broker/usr/lib/x86_64-linux-gnu"
mosquitto="$dir/broker/usr/sbin/mosquitto"
ldd "$mosquitto" >log 2>&1 && ! grep "not found" log || not_tried "a library of the broker is missing"

cat >probe.py <<'PY'
import socket
import subprocess
import sys
import time

MESSAGES, ACKNOWLEDGED = 20, 3
PUBLISH, PINGRESP = 3, 13


def text(string):
    return len(string).to_bytes(2, "big") + string


class Client:
    def __init__(self, port, name, receive_maximum=None):
        self.conn = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.stream = self.conn.makefile("rb")
        self.version_5 = receive_maximum is not None
        properties = b"\3\x21" + receive_maximum.to_bytes(2, "big") if self.version_5 else b""
        self.send(0x10, text(b"MQTT") + bytes([5 if self.version_5 else 4, 2, 0, 60]) + properties + text(name))
        self.next()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.conn.close()

    def send(self, header, body=b""):
        self.conn.sendall(bytes([header, len(body)]) + body)

    def next(self):
        head = self.stream.read(2)
        if len(head) < 2:
            raise OSError("the broker closed the connection")
        return head[0] >> 4, self.stream.read(head[1])

    def subscribe(self):
        self.send(0x82, b"\0\1" + b"\0" * self.version_5 + text(b"t") + b"\1")
        self.next()

    def publish(self, number):
        self.send(0x32, text(b"t") + number.to_bytes(2, "big") + b"x")
        self.next()

    def all_that_comes(self):
        """The packet ids of the messages that come before the answer to a ping."""
        self.send(0xC0)
        ids = []
        while True:
            kind, body = self.next()
            if kind == PINGRESP:
                return ids
            if kind == PUBLISH:
                ids.append(body[3:5])


def windows(broker, config, receive_maximum):
    """The messages without an acknowledgement, before the first acknowledgement and after each."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with open("mosquitto.conf", "w") as file:
        file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\n{config}\n")
    process = subprocess.Popen([broker, "-c", "mosquitto.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        with Client(port, b"reader", receive_maximum) as reader, Client(port, b"writer") as writer:
            reader.subscribe()
            for number in range(1, MESSAGES + 1):
                writer.publish(number)
            pending = reader.all_that_comes()
            counts = [len(pending)]
            for _ in range(ACKNOWLEDGED):
                reader.send(0x40, pending.pop(0))
                pending += reader.all_that_comes()
                counts.append(len(pending))
            return counts
    finally:
        process.kill()
        process.wait()


stated = {
    ("max_inflight_messages 2", None): [2, 3, 4, 5],
    ("", 5): [5, 9, 13, 17],
    ("", 1): [1, 1, 1, 1],
}
changed = False
try:
    for (config, receive_maximum), expected in stated.items():
        counts = windows(sys.argv[1], config, receive_maximum)
        name = f"Receive Maximum {receive_maximum}" if receive_maximum else config
        print(f"{name}: without an acknowledgement {counts[0]}, and {counts[1:]} after each of {ACKNOWLEDGED} acknowledgements")
        changed |= counts != expected
except OSError as error:
    print("not tried:", error)
    sys.exit(2)
if changed:
    print("changed: stated was", *stated.values())
    sys.exit(1)
PY
timeout 90 python3 probe.py "$mosquitto" || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
