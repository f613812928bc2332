#!/usr/bin/env bash
# nats-server 2.15.3 (JetStream): a message that was deleted or purged keeps a new
# one with its message id out; the publisher is told that it is stored.
#
# One would expect: Nats-Msg-Id guards against storing a message twice. When the
# stream is emptied, and filled anew with the same ids, nothing is there twice, so
# all is stored.
#
# Seen: the ids are remembered for the duplicate window (two minutes unless set)
# apart from the messages; neither a delete nor a purge of the whole stream
# forgets them. What is published again is acknowledged with the sequence number
# of the message that is gone, and the stream stays empty. Tests that purge between
# runs, and imports that are started again after a purge, find an empty stream
# although each acknowledgement came. Only its field "duplicate" tells.
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
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"t"}})
	must(err)
	publish := func() *jetstream.PubAck {
		ack, err := js.Publish(ctx, "t", []byte("x"), jetstream.WithMsgID("id-1"))
		must(err)
		return ack
	}
	state := func(when string, ack *jetstream.PubAck) uint64 {
		info, err := stream.Info(ctx)
		must(err)
		fmt.Printf("%s: acknowledged as sequence %d, duplicate %v; the stream has %d messages\n", when, ack.Sequence, ack.Duplicate, info.State.Msgs)
		return info.State.Msgs
	}

	state("published", publish())
	must(stream.DeleteMsg(ctx, 1))
	deleted := state("published again after a delete", publish())
	must(stream.Purge(ctx))
	purged := state("published again after a purge", publish())
	if deleted != 0 || purged != 0 {
		fmt.Println("changed: the message is stored again")
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
