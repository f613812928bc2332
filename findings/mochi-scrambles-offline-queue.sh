#!/usr/bin/env bash
# mochi-mqtt/server 2.7.9 (Go MQTT broker): what waited for an offline session is
# delivered in a random order, and each first delivery says that it is a repeat.
#
# One would expect: MQTT keeps the order of a topic (4.6), and a queue for a
# session gives out first what came first. DUP=1 says that the same packet was
# sent before.
#
# Seen: queued messages stand in a hash map and are sorted by the second in which
# they came; within a second the order is that of the map, another one each time.
# They take the path of re-sent packets, so all have DUP=1, though none was ever
# sent. A receiver that drops what is marked as a repeat loses the whole queue,
# and one that takes the last value for the newest shows an old one.
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
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

const messages = 40

func main() {
	address, gone := startBroker()
	session := packet(0x10, text("MQTT"), []byte{4, 0, 0, 60}, text("reader"))
	reader := dial(address, session)
	reader.Write(packet(0x82, []byte{0, 1}, text("t"), []byte{1}))
	reader.next()
	reader.Close()
	<-gone

	writer := dial(address, packet(0x10, text("MQTT"), []byte{4, 2, 0, 60}, text("writer")))
	for i := 1; i <= messages; i++ {
		writer.Write(packet(0x32, text("t"), []byte{0, byte(i)}, []byte{byte(i)}))
		writer.next()
	}

	reader = dial(address, session)
	var order []byte
	repeats, fallen := 0, 0
	for range messages {
		header, body := reader.next()
		value := body[len(body)-1]
		if header&0x08 != 0 {
			repeats++
		}
		if len(order) > 0 && value < order[len(order)-1] {
			fallen++
		}
		order = append(order, value)
	}
	fmt.Println("sent 1 to 40 one after another, then delivered:", order)
	fmt.Printf("out of order %d times; %d of %d first deliveries have DUP=1\n", fallen, repeats, messages)
	if fallen == 0 || repeats != messages {
		fmt.Println("changed: the order is kept or DUP is not set on all")
		os.Exit(1)
	}
}

// offline passes on each client identifier whose connection the broker has given up.
type offline struct {
	mqtt.HookBase
	ids chan string
}

func (h *offline) Provides(b byte) bool                         { return b == mqtt.OnDisconnect }
func (h *offline) OnDisconnect(cl *mqtt.Client, _ error, _ bool) { h.ids <- cl.ID }

func startBroker() (address string, gone chan string) {
	broker := mqtt.New(&mqtt.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	hook := &offline{ids: make(chan string, 10)}
	listener := listeners.NewTCP(listeners.Config{ID: "tcp", Address: "127.0.0.1:0"})
	must(broker.AddHook(new(auth.AllowHook), nil))
	must(broker.AddHook(hook, nil))
	must(broker.AddListener(listener))
	must(broker.Serve())
	return listener.Address(), hook.ids
}

// client speaks MQTT by hand, so that nothing stands between the bytes and the test.
type client struct {
	net.Conn
	in *bufio.Reader
}

func dial(address string, connect []byte) *client {
	conn, err := net.Dial("tcp", address)
	must(err)
	c := &client{conn, bufio.NewReader(conn)}
	c.Write(connect)
	c.next()
	return c
}

func (c *client) next() (header byte, body []byte) {
	header, err := c.in.ReadByte()
	must(err)
	length, _, err := packets.DecodeLength(c.in)
	must(err)
	body = make([]byte, length)
	_, err = io.ReadFull(c.in, body)
	must(err)
	return header, body
}

func packet(header byte, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append([]byte{header, byte(len(body))}, body...)
}

func text(s string) []byte { return append([]byte{0, byte(len(s))}, s...) }

func must(err error) {
	if err != nil {
		fmt.Println("not tried:", err)
		os.Exit(2)
	}
}
GO
go mod init probe >go.log 2>&1 && go get github.com/mochi-mqtt/server/v2@v2.7.9 >>go.log 2>&1 &&
    go mod tidy >>go.log 2>&1 && go build -o probe . >>go.log 2>&1 ||
    { tail -n 3 go.log || true; echo "not tried: mochi 2.7.9 could not be installed"; exit 2; }
timeout 60 ./probe || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
