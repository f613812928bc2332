#!/usr/bin/env bash
# mochi-mqtt/server 2.7.9 (Go MQTT broker): an MQTT 5 subscriber that allows four unacknowledged
# messages gets eight of twenty, though it acknowledges each at once, and nothing after them.
#
# One would expect: Receive Maximum is a window (MQTT 5, 3.1.2.11.3): what exceeds it waits,
# and each PUBACK makes place for one more (4.9), so a subscriber with a small window gets all
# messages, only later.
#
# Seen: of twenty messages that come together, the first N are sent and the rest waits. Each
# PUBACK for one of these N lets one waiting message go, which is struck off the list of
# unacknowledged messages as it is sent. Its own PUBACK then belongs to nothing and gives
# no place back: after 2N messages the window is shut as long as the connection lasts, also
# for what is published later. A burst of N + 1 messages costs one place for good, one of
# 2N all. The waiting ones are not taken in their order either (a hash map).
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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

const (
	messages = 20
	quiet    = 2 * time.Second // without a message: no more will come
)

func main() {
	address := startBroker()
	asStated := true
	for _, window := range []byte{0, 1, 4} {
		together, later := deliver(address, window)
		name := fmt.Sprintf("Receive Maximum %d", window)
		expected, more := 2*int(window), 0
		if window == 0 {
			name, expected, more = "no Receive Maximum", messages, 1
		}
		fmt.Printf("%s: of %d messages the subscriber gets and acknowledges %d, of one later %d\n", name, messages, together, later)
		asStated = asStated && together == expected && later == more
	}
	if !asStated {
		fmt.Println("changed: stated was twice the Receive Maximum, and none later")
		os.Exit(1)
	}
}

// deliver publishes messages while a subscriber reads none, then lets it read and acknowledge all that
// comes, then publishes one more. A window of 0 leaves the Receive Maximum out.
func deliver(address string, window byte) (together, later int) {
	properties := []byte{0}
	if window > 0 {
		properties = []byte{3, 0x21, 0, window}
	}
	topic := fmt.Sprintf("t%d", window)
	reader := dial(address, packet(0x10, text("MQTT"), []byte{5, 2, 0, 60}, properties, text("reader"+topic)))
	defer reader.Close()
	reader.Write(packet(0x82, []byte{0, 1, 0}, text(topic), []byte{1}))
	reader.next()
	writer := dial(address, packet(0x10, text("MQTT"), []byte{4, 2, 0, 60}, text("writer"+topic)))
	defer writer.Close()
	publish := func(id byte) {
		writer.Write(packet(0x32, text(topic), []byte{0, id}, []byte("x")))
		writer.next()
	}

	for id := byte(1); id <= messages; id++ {
		publish(id)
	}
	together = reader.acknowledgeAll()
	publish(messages + 1)
	return together, reader.acknowledgeAll()
}

// acknowledgeAll takes the messages that come up to a pause and returns their number.
func (c *client) acknowledgeAll() (count int) {
	for {
		c.SetReadDeadline(time.Now().Add(quiet))
		if _, err := c.in.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
			c.SetReadDeadline(time.Time{})
			return count
		}
		c.SetReadDeadline(time.Time{})
		header, body := c.next()
		if header>>4 != 3 {
			must(fmt.Errorf("packet %#x", header))
		}
		count++
		id := 2 + int(body[1])
		c.Write(packet(0x40, body[id:id+2]))
	}
}

func startBroker() (address string) {
	broker := mqtt.New(&mqtt.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	listener := listeners.NewTCP(listeners.Config{ID: "tcp", Address: "127.0.0.1:0"})
	must(broker.AddHook(new(auth.AllowHook), nil))
	must(broker.AddListener(listener))
	must(broker.Serve())
	return listener.Address()
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
