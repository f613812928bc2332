#!/usr/bin/env bash
# go-zeromq/zmq4 0.17.0 (ZeroMQ in pure Go): PUSH and DEALER send each message to
# every peer, so each worker of a pipeline does the whole work.
#
# One would expect: PUSH and DEALER hand out their messages in turns, each to one
# peer (RFC 30 and 28: round-robin); that is what the pattern is for. Sending to
# all is PUB. Whoever moves from libzmq to this package, whose sockets have the
# same names and speak the same protocol, takes that for granted.
#
# Seen: nine tasks for three workers are 27 deliveries, nine for each worker. Only
# REQ takes turns. With one worker, as in the examples, nothing of it shows.
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
	"strings"
	"time"

	"github.com/go-zeromq/zmq4"
)

const workers, tasks, end = 3, 9, "end"

func main() {
	asStated := true
	kinds := []struct {
		name             string
		sender, receiver func(context.Context, ...zmq4.Option) zmq4.Socket
	}{{"PUSH", zmq4.NewPush, zmq4.NewPull}, {"DEALER", zmq4.NewDealer, zmq4.NewDealer}}
	for _, kind := range kinds {
		got := share(kind.sender, kind.receiver)
		fmt.Printf("%s: %d tasks for %d workers; they got %v\n", kind.name, tasks, workers, got)
		for _, count := range got {
			asStated = asStated && count == tasks
		}
	}
	if !asStated {
		fmt.Println("changed: stated was that each worker gets all tasks")
		os.Exit(1)
	}
}

// share sends the tasks to workers that listen and returns how many tasks each of them got.
func share(newSender, newReceiver func(context.Context, ...zmq4.Option) zmq4.Socket) []int {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	sender := newSender(ctx)
	defer sender.Close()
	counts := make([]chan int, workers)
	for i := range counts {
		worker := newReceiver(ctx)
		defer worker.Close()
		must(worker.Listen("tcp://127.0.0.1:0"))
		must(sender.Dial("tcp://" + worker.Addr().String()))
		counts[i] = make(chan int, 1)
		go func() { counts[i] <- count(worker) }()
	}
	for i := range tasks {
		must(sender.Send(zmq4.NewMsgString(fmt.Sprint("task ", i))))
	}
	// Enough for each worker, also if they are handed out in turns.
	for range workers {
		must(sender.Send(zmq4.NewMsgString(end)))
	}
	var got []int
	for _, c := range counts {
		got = append(got, <-c)
	}
	return got
}

func count(worker zmq4.Socket) (tasks int) {
	for {
		message, err := worker.Recv()
		must(err)
		if strings.HasPrefix(string(message.Bytes()), end) {
			return tasks
		}
		tasks++
	}
}

func must(err error) {
	if err != nil {
		fmt.Println("not tried:", err)
		os.Exit(2)
	}
}
GO
go mod init probe >go.log 2>&1 && go get github.com/go-zeromq/zmq4@v0.17.0 >>go.log 2>&1 &&
    go mod tidy >>go.log 2>&1 && go build -o probe . >>go.log 2>&1 ||
    { tail -n 3 go.log || true; echo "not tried: zmq4 0.17.0 could not be installed"; exit 2; }
timeout 60 ./probe || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
