#!/usr/bin/env bash
# Eclipse Paho for Python 2.2.0 (MQTT client): with MQTT 5 it sends twenty messages of QoS 1 at once
# to a broker that allows two.
#
# One would expect: the broker says in its CONNACK how many messages of QoS 1 and 2 it takes
# without having acknowledged them (Receive Maximum, MQTT 5, 3.2.2.3.3), and a client must not
# send more (3.3.4, 4.9); the rest waits in the client's queue.
#
# Seen: the client hands the property to on_connect and does nothing with it. Its own limit
# holds, max_inflight_messages, 20 if not set; it cannot be set any more once the connection is
# open, so not to what the broker said. A broker may close the connection of such a
# client (0x93, Receive Maximum exceeded), and only does so when its acknowledgements are late:
# under load, not in a test.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >probe.py <<'PY'
import socket
import sys
import threading

import paho.mqtt.client as mqtt

ALLOWED, MESSAGES = 2, 30
CONNECT, PUBLISH, DISCONNECT = 1, 3, 14
RECEIVE_MAXIMUM = b"\x21" + ALLOWED.to_bytes(2, "big")

published, told, sent = threading.Event(), [], []


def serve(listener):
    """A broker that allows two messages and acknowledges none; it counts them up to the end of the connection."""
    conn, _ = listener.accept()
    with conn, conn.makefile("rb") as stream:
        while head := stream.read(2):
            body = stream.read(head[1])
            kind = head[0] >> 4
            if kind == CONNECT:
                properties = bytes([len(RECEIVE_MAXIMUM)]) + RECEIVE_MAXIMUM
                conn.sendall(bytes([0x20, 2 + len(properties), 0, 0]) + properties)
            elif kind == PUBLISH:
                sent.append(int(body[-1]))
            elif kind == DISCONNECT:
                return


def on_connect(client, data, flags, reason, properties):
    told.append(properties.ReceiveMaximum)
    for number in range(MESSAGES):
        client.publish("t", bytes([number]), qos=1)
    client.disconnect()


try:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        broker = threading.Thread(target=serve, args=(listener,), daemon=True)
        broker.start()
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        client.on_connect = on_connect
        client.connect("127.0.0.1", listener.getsockname()[1])
        client.loop_start()
        broker.join(30)
        client.loop_stop()
except OSError as error:
    print("not tried:", error)
    sys.exit(2)
if broker.is_alive() or not told:
    print("not tried: the client did not connect, or did not end its connection")
    sys.exit(2)
print(f"the broker allows {ALLOWED} unacknowledged messages, and on_connect is told {told[0]}")
print(f"sent without an acknowledgement: {len(sent)} of {MESSAGES}")
if told != [ALLOWED] or len(sent) != 20:
    print("changed: stated was 20 sent, though on_connect was told of 2")
    sys.exit(1)
PY
python3 -m venv "$dir/venv" >log 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: paho-mqtt==2.2.0 >log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: paho-mqtt 2.2.0 could not be installed"; exit 2; }
timeout 90 "$dir/venv/bin/python" probe.py || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
