#!/usr/bin/env bash
# mochi-mqtt/server 2.7.9 (Go MQTT broker): a shared subscription gives QoS 0
# messages to members that are not connected, where they are lost, while another
# member of the group is connected and idle.
#
# One would expect: a group ($share/g/t) shares work among those who can do it; a
# message is only lost, or kept, when nobody of the group is there. And the load
# goes round in turns.
#
# Seen: with each message the broker takes one member by chance, one whose session
# is merely remembered as well. With one of four members connected, about three
# quarters of the messages go nowhere; the sender, the connected member and a
# capture of its connection show no sign of it.
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

const messages, members = 400, 4

func main() {
	address, gone := startBroker()
	var last *client
	for i := range members {
		if last != nil {
			last.Close()
			<-gone
		}
		last = dial(address, packet(0x10, text("MQTT"), []byte{4, 0, 0, 60}, text(fmt.Sprint("worker", i))))
		last.Write(packet(0x82, []byte{0, 1}, text("$share/g/t"), []byte{0}))
		last.next()
	}

	writer := dial(address, packet(0x10, text("MQTT"), []byte{4, 2, 0, 60}, text("writer")))
	for range messages {
		writer.Write(packet(0x30, text("t"), []byte("x")))
	}
	writer.Write(packet(0xc0)) // The answer to a ping comes when all before it is handed on.
	writer.next()
	last.Write(packet(0xc0))
	got := 0
	for header, _ := last.next(); header != 0xd0; header, _ = last.next() {
		got++
	}
	fmt.Printf("%d messages for a group of %d, one of them connected: that one got %d\n", messages, members, got)
	if got > messages/2 {
		fmt.Println("changed: most messages reach the connected member")
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
