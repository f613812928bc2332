#!/usr/bin/env bash
# nats-server 2.15.3 (JetStream): in a stream of counters the deletion of the newest
# message sets the counter back, the deletion of an older one changes nothing.
#
# One would expect one of two: a counter is the sum of the messages that are in the
# stream, so each deletion lowers it; or it is a value of its own, and housekeeping
# among messages does not touch it.
#
# Seen: each message carries the total so far, and the counter is the total in the
# newest message that is left. After +5, +3 and +10 (18) the deletion of +5 leaves
# 18, the deletion of +10 leaves 8, and the next +1 makes 9.
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
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	js := connect(os.Args[1])
	ctx := context.Background()
	config := jetstream.StreamConfig{Name: "COUNTERS", Subjects: []string{"hits"}, AllowMsgCounter: true, AllowDirect: true}
	stream, err := js.CreateStream(ctx, config)
	must(err)
	add := func(increment string) {
		message := nats.NewMsg("hits")
		message.Header.Set("Nats-Incr", increment)
		_, err := js.PublishMsg(ctx, message)
		must(err)
	}
	total := func(what string) string {
		last, err := stream.GetLastMsgForSubject(ctx, "hits")
		must(err)
		fmt.Printf("%-28s %s\n", what, last.Data)
		return string(last.Data)
	}

	add("+5")
	add("+3")
	add("+10")
	total("after +5, +3, +10:")
	must(stream.DeleteMsg(ctx, 1))
	oldest := total("+5 deleted:")
	must(stream.DeleteMsg(ctx, 3))
	newest := total("+10 deleted:")
	add("+1")
	next := total("after +1:")
	if oldest != `{"val":"18"}` || newest != `{"val":"8"}` || next != `{"val":"9"}` {
		fmt.Println("changed: stated was 18, 8, 9")
		os.Exit(1)
	}
}

func connect(storage string) jetstream.JetStream {
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: storage, NoSigs: true})
	must(err)
	broker.Start()
	if !broker.ReadyForConnections(20 * time.Second) {
		must(fmt.Errorf("the broker does not start"))
	}
	conn, err := nats.Connect(broker.ClientURL())
	must(err)
	js, err := jetstream.New(conn)
	must(err)
	return js
}

func must(err error) {
	if err != nil {
		fmt.Println("not tried:", err)
		os.Exit(2)
	}
}
GO
go mod init probe >go.log 2>&1 && go get github.com/nats-io/nats-server/v2@v2.15.3 github.com/nats-io/nats.go@v1.55.0 >>go.log 2>&1 &&
    go mod tidy >>go.log 2>&1 && go build -o probe . >>go.log 2>&1 ||
    { tail -n 3 go.log || true; echo "not tried: nats-server 2.15.3 could not be installed"; exit 2; }
timeout 60 ./probe "$dir" || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
