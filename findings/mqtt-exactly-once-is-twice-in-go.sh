#!/usr/bin/env bash
# Eclipse Paho for Go 1.5.1 and for Python 2.2.0 (MQTT clients): a message of QoS 2 that is sent
# again after a reconnection is given to the application twice in Go, once in Python.
#
# One would expect: QoS 2 is "exactly once", also over a reconnection of the same session:
# the client keeps the packet id until PUBREL and knows the repetition by it. Clients of
# one project do it alike.
#
# Seen: the Go client gives the message to the application as it comes, and nothing
# looks whether the id is known. When its PUBREC is lost with the connection, the
# broker has to send the message again, and the handler runs again; the client then goes
# through PUBREC, PUBREL, PUBCOMP like the other, so to the broker all is well. It is at
# least once at the price of exactly once. The only hint is Duplicate() of the message.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOPATH="$dir/go" GOCACHE="$dir/cache" GOFLAGS=-modcacherw

cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

func main() {
	subscribe := func(client mqtt.Client) { client.Subscribe("t", 2, nil) }
	client := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://127.0.0.1:" + os.Args[1]).
		SetClientID("me").SetProtocolVersion(4).SetCleanSession(false).SetMaxReconnectInterval(time.Second).
		SetOnConnectHandler(subscribe).
		SetDefaultPublishHandler(func(_ mqtt.Client, message mqtt.Message) { fmt.Println(string(message.Payload())) }))
	if token := client.Connect(); token.Wait() && token.Error() != nil {
		panic(token.Error())
	}
	time.Sleep(time.Minute)
}
GO
cat >client.py <<'PY'
import sys

import paho.mqtt.client as mqtt

client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, "me", clean_session=False)
client.on_connect = lambda client, *_: client.subscribe("t", 2)
client.on_message = lambda client, _, message: print(message.payload.decode(), flush=True)
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_forever()
PY
cat >probe.py <<'PY'
import socket
import subprocess
import sys

CONNECT, PUBLISH, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE = 1, 3, 5, 6, 7, 8
SESSION_PRESENT, DUP, QOS_2 = 1, 8, 4
ID = b"\0\7"


class Peer:
    """A client's connection, as its broker sees it."""

    def __init__(self, listener, session):
        self.conn, _ = listener.accept()
        self.conn.settimeout(30)
        self.stream = self.conn.makefile("rb")
        self.wait_for(CONNECT)
        self.send(0x20, bytes([session, 0]))

    def send(self, header, body):
        self.conn.sendall(bytes([header, len(body)]) + body)

    def wait_for(self, kind):
        """Reads up to a packet of a kind; a subscription on the way is confirmed."""
        while True:
            header = self.stream.read(2)
            if len(header) < 2:
                raise OSError("the client closed its connection")
            body = self.stream.read(header[1])
            if header[0] >> 4 == SUBSCRIBE:
                self.send(0x90, body[:2] + b"\2")
            if header[0] >> 4 == kind:
                return

    def publish(self, flags, packet_id, text):
        self.send(PUBLISH << 4 | flags, b"\0\1t" + packet_id + text)

    def close(self):
        self.stream.close()
        self.conn.close()


def deliveries(*program):
    """What the application gets of one message whose first PUBREC is lost, and of one more."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        client = subprocess.Popen([*program, str(listener.getsockname()[1])], stdout=subprocess.PIPE, text=True)
        try:
            first = Peer(listener, 0)
            first.wait_for(SUBSCRIBE)
            first.publish(QOS_2, ID, b"message")
            first.wait_for(PUBREC)
            first.close()
            second = Peer(listener, SESSION_PRESENT)
            second.publish(QOS_2 | DUP, ID, b"message")
            second.wait_for(PUBREC)
            second.send(PUBREL << 4 | 2, ID)
            second.wait_for(PUBCOMP)
            second.publish(0, b"", b"end")
            got = []
            for line in client.stdout:
                got.append(line.strip())
                if got[-1] == "end":
                    return got
            raise OSError("the client ended")
        finally:
            client.kill()
            client.wait()


try:
    go, python = deliveries("./client"), deliveries(sys.executable, "client.py")
except OSError as error:
    print("not tried:", error)
    sys.exit(2)
print("one message of QoS 2, sent again with DUP after a reconnection, then the end (QoS 0)")
print("Paho for Go gives the application:    ", *go)
print("Paho for Python gives the application:", *python)
if (go, python) != (["message", "message", "end"], ["message", "end"]):
    print("changed: stated was twice in Go and once in Python")
    sys.exit(1)
PY
python3 -m venv "$dir/venv" >log 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: paho-mqtt==2.2.0 >log 2>&1 &&
    go mod init client >log 2>&1 && go get github.com/eclipse/paho.mqtt.golang@v1.5.1 >>log 2>&1 &&
    go mod tidy >>log 2>&1 && go build -o client . >>log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: the Paho clients could not be installed"; exit 2; }
timeout 120 "$dir/venv/bin/python" probe.py || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
