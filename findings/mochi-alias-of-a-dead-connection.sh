#!/usr/bin/env bash
# mochi-mqtt/server 2.7.9 (Go MQTT broker, MQTT 5): messages queued for a session
# name their topic by an alias of the connection that is gone, so after the
# reconnection nobody can tell what topic they have.
#
# One would expect: a topic alias lives as long as its connection (MQTT 5,
# 3.3.2.3.4). What waits in a queue has a topic; an alias is only a short form,
# put in as a packet goes out.
#
# Seen: the alias is put in when the message is queued. A reader that allows
# aliases (as clients do to save bytes) gets one message, is away for two, and
# comes back to its session: both arrive with an empty topic and alias 1, which
# this connection never defined. It sees the alias table of a connection that it
# has closed; without one the packets would have named their topic.
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

func main() {
	address, gone := startBroker()
	// Session expiry of a day, topic alias maximum 10.
	session := packet(0x10, text("MQTT"), []byte{5, 0, 0, 60, 8, 0x11, 0, 1, 0x51, 0x80, 0x22, 0, 10}, text("reader"))
	reader := dial(address, session)
	reader.Write(packet(0x82, []byte{0, 1, 0}, text("t"), []byte{1}))
	reader.next()
	writer := dial(address, packet(0x10, text("MQTT"), []byte{4, 2, 0, 60}, text("writer")))
	publish := func(id byte) {
		writer.Write(packet(0x32, text("t"), []byte{0, id}, []byte("x")))
		writer.next()
	}

	publish(1)
	topic, _ := read(reader)
	reader.Write(packet(0x40, []byte{0, 1}))
	fmt.Printf("first connection: topic %q\n", topic)
	reader.Write(packet(0xe0))
	<-gone

	publish(2)
	publish(3)
	reader = dial(address, session)
	for range 2 {
		topic, alias := read(reader)
		fmt.Printf("second connection: topic %q, alias %d\n", topic, alias)
		if topic != "" || alias != 1 {
			fmt.Println("changed: the message names its topic")
			os.Exit(1)
		}
	}
}

// read takes the topic and the topic alias of the next PUBLISH; 0 where it has none.
func read(c *client) (topic string, alias uint16) {
	_, body := c.next()
	length := int(body[1])
	topic = string(body[2 : 2+length])
	properties := body[2+length+2:]
	for i := 1; i <= int(properties[0]); {
		switch properties[i] {
		case 0x23: // topic alias
			return topic, uint16(properties[i+1])<<8 | uint16(properties[i+2])
		case 0x02: // message expiry
			i += 5
		default:
			must(fmt.Errorf("property %#x", properties[i]))
		}
	}
	return topic, 0
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
