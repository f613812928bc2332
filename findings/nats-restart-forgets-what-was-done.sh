#!/usr/bin/env bash
# nats-server 2.15.3 (JetStream): a server that starts again forgets the message ids
# of what was done and deleted; a task that is sent again is done twice.
#
# One would expect: within the duplicate window an id (Nats-Msg-Id) is refused. While the
# server runs that is so for tasks of a work queue that are acknowledged and gone too,
# and a file stream comes back from an orderly restart as it was.
#
# Seen: the ids are not stored but read out of the messages that are left. An id whose
# message is still there is a duplicate after the restart, that of a finished task is
# new, seconds into a window of two minutes. A work queue is empty when all goes
# well, so it forgets all; and a publisher sends again just because a restart
# swallowed its acknowledgement.
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
	ctx := context.Background()
	broker, js := start(os.Args[1])
	began := time.Now()
	tasks, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "TASKS", Subjects: []string{"tasks"}, Retention: jetstream.WorkQueuePolicy, Duplicates: 2 * time.Minute})
	must(err)
	worker, err := tasks.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "worker"})
	must(err)
	send := func(id string) bool {
		ack, err := js.Publish(ctx, "tasks", []byte(id), jetstream.WithMsgID(id))
		must(err)
		return ack.Duplicate
	}

	send("done")
	task, err := worker.Next()
	must(err)
	must(task.DoubleAck(ctx))
	send("waiting")
	before := []bool{send("done"), send("waiting")}
	fmt.Println("sent again, duplicate? the finished task, the waiting one:", before)

	broker.Shutdown()
	broker.WaitForShutdown()
	_, js = start(os.Args[1])
	after := []bool{send("done"), send("waiting")}
	fmt.Println("the same after a restart:                                 ", after)
	if time.Since(began) > time.Minute {
		fmt.Println("not tried: too slow for the duplicate window")
		os.Exit(2)
	}
	worker, err = js.Consumer(ctx, "TASKS", "worker")
	must(err)
	for range 2 {
		task, err = worker.Next()
		must(err)
		fmt.Println("the worker gets:", string(task.Data()))
	}
	if fmt.Sprint(before, after) != "[true true] [false true]" || string(task.Data()) != "done" {
		fmt.Println("changed: stated was [true true], then [false true] and the finished task once more")
		os.Exit(1)
	}
}

func start(storage string) (*server.Server, jetstream.JetStream) {
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
	return broker, js
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
