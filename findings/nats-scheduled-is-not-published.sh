#!/usr/bin/env bash
# nats-server 2.15.3 (JetStream): what a message schedule produces is stored in the stream but not
# published; a plain subscriber of its subject never gets it.
#
# One would expect: each message of a stream was published on its subject, and who subscribes
# to the subject without JetStream sees it as well. A schedule (Nats-Schedule) names the
# subject to which the later message goes, so it is a publication that comes later.
#
# Seen: of a message that is published at once and one that is scheduled, both on the same
# subject, the stream's consumer gets both and a plain subscriber the first. Services that
# listen without JetStream, and whatever follows subjects on the wire, miss all
# that is delayed; nothing says so, the schedule is confirmed.
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
	conn := connect(os.Args[1])
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	js, err := jetstream.New(conn)
	must(err)
	config := jetstream.StreamConfig{Name: "S", Subjects: []string{"orders", "later.>"}, AllowMsgSchedules: true}
	stream, err := js.CreateStream(ctx, config)
	must(err)
	plain, err := conn.SubscribeSync("orders")
	must(err)
	must(conn.Flush())

	publish := func(text string) {
		_, err := js.Publish(ctx, "orders", []byte(text))
		must(err)
	}
	publish("at once")
	scheduled := nats.NewMsg("later.1")
	scheduled.Data = []byte("scheduled")
	scheduled.Header.Set("Nats-Schedule", "@at "+time.Now().UTC().Add(time.Second).Format(time.RFC3339Nano))
	scheduled.Header.Set("Nats-Schedule-Target", "orders")
	_, err = js.PublishMsg(ctx, scheduled)
	must(err)

	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{FilterSubject: "orders"})
	must(err)
	inStream := []string{}
	for len(inStream) < 3 {
		message, err := consumer.Next(jetstream.FetchMaxWait(30 * time.Second))
		must(err)
		inStream = append(inStream, string(message.Data()))
		if len(inStream) == 2 {
			publish("end")
		}
	}
	onWire := []string{}
	for len(onWire) == 0 || onWire[len(onWire)-1] != "end" {
		message, err := plain.NextMsgWithContext(ctx)
		must(err)
		onWire = append(onWire, string(message.Data))
	}
	fmt.Printf("on the subject \"orders\", a consumer of the stream: %q\n", inStream)
	fmt.Printf("on the subject \"orders\", a plain subscriber:       %q\n", onWire)
	if fmt.Sprint(inStream, onWire) != "[at once scheduled end] [at once end]" {
		fmt.Println("changed: stated was [at once scheduled end], and [at once end]")
		os.Exit(1)
	}
}

func connect(storage string) *nats.Conn {
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: storage, NoSigs: true})
	must(err)
	broker.Start()
	if !broker.ReadyForConnections(20 * time.Second) {
		must(fmt.Errorf("the broker does not start"))
	}
	conn, err := nats.Connect(broker.ClientURL())
	must(err)
	return conn
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
