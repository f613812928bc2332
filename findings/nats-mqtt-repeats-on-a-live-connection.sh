#!/usr/bin/env bash
# nats-server 2.15.3 (its MQTT side): a message that a client does not acknowledge
# is sent again and again on the connection that is still up.
#
# One would expect: MQTT runs over TCP, which repeats what is lost. A broker sends
# an unacknowledged QoS 1 message again only after the client has reconnected, as
# the common brokers do (and as MQTT 5 prescribes, in 4.4).
#
# Seen: behind the MQTT side stands a JetStream consumer with its acknowledgement
# time (mqtt.ack_wait, 30 s unless set, 1 s here). As often as it runs out the same
# PUBLISH comes with DUP=1. A handler that works longer than that before it
# acknowledges gets the same message several times, though no connection broke.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/probe"
cd "$dir/probe"
export GOPATH="$dir/go" GOCACHE="$dir/cache" GOFLAGS=-modcacherw

cat >main.go <<'GO'
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	options := &server.Options{ServerName: "probe", Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoSigs: true}
	options.MQTT.Host = "127.0.0.1"
	options.MQTT.Port = -1
	options.MQTT.AckWait = time.Second
	broker, err := server.NewServer(options)
	must(err)
	broker.Start()
	if !broker.ReadyForConnections(20 * time.Second) {
		must(fmt.Errorf("the broker does not start"))
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", options.MQTT.Port))
	must(err)
	must(conn.SetDeadline(time.Now().Add(20 * time.Second)))

	send(conn, 0x10, text("MQTT"), []byte{4, 2, 0, 60}, text("reader"))
	receive(conn, 0x20)
	send(conn, 0x82, []byte{0, 1}, text("t"), []byte{1})
	receive(conn, 0x90)
	send(conn, 0x32, text("t"), []byte{0, 1}, []byte("x"))
	// The reader is its own writer: it drops the PUBACK for what it wrote, and gives none for what it reads.
	start := time.Now()
	for want := byte(0x32); ; want = 0x3a {
		header := receive(conn, 0x30)
		fmt.Printf("after %.0f s on the same connection: PUBLISH, DUP=%d\n", time.Since(start).Seconds(), header>>3&1)
		if header != want {
			fmt.Printf("changed: header %#x where %#x was stated\n", header, want)
			os.Exit(1)
		}
		if time.Since(start) > 2500*time.Millisecond {
			return
		}
	}
}

// receive reads packets until one of the kind comes and returns its first byte.
func receive(conn net.Conn, kind byte) byte {
	for {
		start := make([]byte, 2)
		_, err := io.ReadFull(conn, start)
		must(err)
		_, err = io.CopyN(io.Discard, conn, int64(start[1]))
		must(err)
		if start[0]&0xf0 == kind {
			return start[0]
		}
	}
}

func send(conn net.Conn, header byte, parts ...[]byte) {
	body := bytes.Join(parts, nil)
	_, err := conn.Write(append([]byte{header, byte(len(body))}, body...))
	must(err)
}

func text(s string) []byte { return append([]byte{0, byte(len(s))}, s...) }

func must(err error) {
	if err != nil {
		fmt.Println("not tried:", err)
		os.Exit(2)
	}
}
GO
go mod init probe >go.log 2>&1 && go get github.com/nats-io/nats-server/v2@v2.15.3 >>go.log 2>&1 &&
    go mod tidy >>go.log 2>&1 && go build -o probe . >>go.log 2>&1 ||
    { tail -n 3 go.log || true; echo "not tried: nats-server 2.15.3 could not be installed"; exit 2; }
timeout 60 ./probe "$dir" || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
