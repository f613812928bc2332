#!/usr/bin/env bash
# Eclipse Mosquitto 2.0.11 (MQTT broker, Debian 12): of 100 messages of QoS 2 that a publisher
# has under way at the same time, it confirms all and delivers 20.
#
# One would expect: what the broker has confirmed (PUBREC and, after the publisher's PUBREL,
# PUBCOMP) is delivered exactly once (MQTT 3.1.1, 4.3.3). How many messages a publisher has
# under way is its own affair: version 3.1.1 has no limit, and mqtt.js sends all it is given.
# max_queued_messages (1000 by default) is ten times as many.
#
# Seen: the first 20 (max_inflight_messages) come to the subscriber, which reads all the time,
# and the other 80 to nobody, though each of them is confirmed twice. No connection is closed. If the
# publisher has one under way at a time, or sends them with QoS 1, all 100 come.
# max_queued_messages has no part in it; max_inflight_messages 200 lets all through.
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

MESSAGES = 100
PUBLISH, PUBACK, PUBREC, PUBCOMP, PINGRESP = 3, 4, 5, 7, 13


def text(string):
    return len(string).to_bytes(2, "big") + string


class Client:
    def __init__(self, port, name):
        self.conn = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.stream = self.conn.makefile("rb")
        self.send(0x10, text(b"MQTT") + b"\4\2\0\x3c" + text(name))
        self.next()

    def send(self, header, body=b""):
        self.conn.sendall(bytes([header, len(body)]) + body)

    def next(self):
        head = self.stream.read(2)
        if len(head) < 2:
            raise OSError("the broker closed the connection")
        return head[0] >> 4, self.stream.read(head[1])

    def close(self):
        self.stream.close()
        self.conn.close()


def publish(writer, qos, under_way):
    """Sends all messages, so many of them before the broker has confirmed the first. Returns the number that it confirmed."""
    confirmed = 0
    for number in range(1, MESSAGES + under_way + 1):
        if number <= MESSAGES:
            writer.send(0x30 | qos << 1, text(b"t") + number.to_bytes(2, "big") + b"x")
        if number >= under_way:
            while confirmed < min(MESSAGES, number - under_way + 1):
                kind, body = writer.next()
                if kind == PUBREC:
                    writer.send(0x62, body)
                confirmed += kind in (PUBACK, PUBCOMP)
    return confirmed


def delivered(broker, config, qos, under_way):
    """The numbers of messages that the broker confirmed and that a subscriber (QoS 0) got."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with open("mosquitto.conf", "w") as file:
        file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\n{config}\n")
    process = subprocess.Popen([broker, "-c", "mosquitto.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    clients = []
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        for name in (b"reader", b"writer"):
            clients.append(Client(port, name))
        reader, writer = clients
        reader.send(0x82, b"\0\1" + text(b"t") + b"\0")
        reader.next()
        confirmed = publish(writer, qos, under_way)
        time.sleep(1)
        reader.send(0xC0)
        got = 0
        while True:
            kind, _ = reader.next()
            if kind == PINGRESP:
                return confirmed, got
            got += kind == PUBLISH
    finally:
        for client in clients:
            client.close()
        process.kill()
        process.wait()


stated = {
    ("", 2, 100): (100, 20),
    ("max_queued_messages 100000", 2, 100): (100, 20),
    ("max_inflight_messages 200", 2, 100): (100, 100),
    ("", 2, 1): (100, 100),
    ("", 1, 100): (100, 100),
}
changed = False
try:
    for (config, qos, under_way), expected in stated.items():
        counts = delivered(sys.argv[1], config, qos, under_way)
        print(f"{config or 'default settings'}, QoS {qos}, {under_way} under way: {counts[0]} confirmed, {counts[1]} delivered")
        changed |= counts != expected
except OSError as error:
    print("not tried:", error)
    sys.exit(2)
if changed:
    print("changed: stated was", *stated.values())
    sys.exit(1)
PY
timeout 90 python3 probe.py "$mosquitto" || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
