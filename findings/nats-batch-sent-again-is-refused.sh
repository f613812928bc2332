#!/usr/bin/env bash
# nats-server 2.15.3 (JetStream): an atomic batch that is sent again with its message
# ids is refused with an error, where a single message is confirmed as a duplicate.
#
# One would expect: message ids make a repetition harmless. When an acknowledgement is
# lost, the publisher sends the same again and is told that it is stored already; a
# batch is confirmed or refused as a whole, so a repeated batch is confirmed as a whole.
#
# Seen: a batch that has an id within the duplicate window is refused, though all of
# its messages are in the stream. From the error ("contains duplicate message id")
# the publisher cannot tell a batch that arrived whole from one that shares a single
# message with an earlier one and of which nothing was stored. A retry loop that takes
# errors for "not stored" goes on until the window has passed, and then stores it twice.
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

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	js := connect(os.Args[1])
	ctx := context.Background()
	config := jetstream.StreamConfig{Name: "S", Subjects: []string{"t"}, AllowAtomicPublish: true}
	stream, err := js.CreateStream(ctx, config)
	must(err)
	single := func() string { return request(js, "Nats-Msg-Id", "single") }
	batch := func(id string) (answer string) {
		for i, commit := range []string{"", "", "1"} {
			sequence := fmt.Sprint(i + 1)
			answer = request(js, "Nats-Batch-Id", id, "Nats-Batch-Sequence", sequence, "Nats-Msg-Id", sequence, "Nats-Batch-Commit", commit)
		}
		return answer
	}

	fmt.Println("single message:      ", single())
	again := single()
	fmt.Println("the same again:      ", again)
	fmt.Println("batch of three:      ", batch("first"))
	refused := batch("second")
	fmt.Println("the same three again:", refused)
	info, err := stream.Info(ctx)
	must(err)
	fmt.Println("messages in the stream:", info.State.Msgs)
	if !strings.Contains(again, `"duplicate": true`) && !strings.Contains(again, `"duplicate":true`) ||
		!strings.Contains(refused, "duplicate message id") || info.State.Msgs != 4 {
		fmt.Println("changed: stated was a duplicate, then an error, and 4 messages")
		os.Exit(1)
	}
}

// request publishes with the headers that have a value and returns what the server answers.
func request(js jetstream.JetStream, headers ...string) string {
	message := nats.NewMsg("t")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			message.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := js.Conn().RequestMsg(message, 10*time.Second)
	must(err)
	return string(answer.Data)
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
