#!/usr/bin/env bash
# segmentio/kafka-go 0.4.51 (Go): a reader with IsolationLevel ReadCommitted delivers
# the records of aborted transactions, and the broker's markers as messages.
#
# One would expect: with this level "only committed" records are seen. The level is sent
# with each fetch, and a broker that knows it answers with the aborted ones named;
# the clients of other makers (franz-go, Sarama, Java) leave those and the markers out.
#
# Seen: of three transactions of two records (abort, commit, abort) kafka-go gives nine
# messages: six records in their order, and three more of a few binary bytes, one
# for each marker. The level only holds it back at transactions that are still open;
# the list of aborted ones is not looked at. The data is not marked in any way.
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

	segment "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Each transaction takes three offsets: two records and the marker of its end.
const perTransaction = 3

var commits = []bool{false, true, false}

func main() {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	must(err)
	address := broker.ListenAddrs()[0]
	produce(address)
	fmt.Println("produced: a and b (aborted), c and d (committed), e and f (aborted), and the end (no transaction)")

	franz := readFranz(address)
	fmt.Printf("franz-go, read committed: %q\n", franz)
	got, markers := readKafkaGo(address)
	fmt.Printf("kafka-go, read committed: %q, and %d markers\n", got, markers)
	broker.Close()
	if fmt.Sprint(franz, got, markers) != "[c d end] [a b c d e f end] 3" {
		fmt.Println("changed: stated was [c d end], and [a b c d e f end] with 3 markers")
		os.Exit(1)
	}
}

func produce(address string) {
	ctx := context.Background()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("t"))
	must(err)
	value := 'a'
	for _, commit := range commits {
		must(client.BeginTransaction())
		for range perTransaction - 1 {
			must(client.ProduceSync(ctx, kgo.StringRecord(string(value))).FirstErr())
			value++
		}
		must(client.EndTransaction(ctx, kgo.TransactionEndTry(commit)))
	}
	client.Close()
	plain, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("t"))
	must(err)
	must(plain.ProduceSync(ctx, kgo.StringRecord("end")).FirstErr())
	plain.Close()
}

func readFranz(address string) (values []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics("t"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must(err)
	defer client.Close()
	for len(values) == 0 || values[len(values)-1] != "end" {
		must(ctx.Err())
		client.PollFetches(ctx).EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
	}
	return values
}

func readKafkaGo(address string) (values []string, markers int) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	reader := segment.NewReader(segment.ReaderConfig{Brokers: []string{address}, Topic: "t", IsolationLevel: segment.ReadCommitted})
	defer reader.Close()
	must(reader.SetOffset(segment.FirstOffset))
	end := int64(len(commits) * perTransaction)
	for {
		message, err := reader.ReadMessage(ctx)
		must(err)
		if message.Offset < end && message.Offset%perTransaction == perTransaction-1 {
			markers++
			continue
		}
		values = append(values, string(message.Value))
		if message.Offset == end {
			return values, markers
		}
	}
}

func must(err error) {
	if err != nil {
		fmt.Println("not tried:", err)
		os.Exit(2)
	}
}
GO
go mod init probe >go.log 2>&1 && go get github.com/segmentio/kafka-go@v0.4.51 github.com/twmb/franz-go@v1.22.3 \
    github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c >>go.log 2>&1 &&
    go mod tidy >>go.log 2>&1 && go build -o probe . >>go.log 2>&1 ||
    { tail -n 3 go.log || true; echo "not tried: kafka-go 0.4.51 could not be installed"; exit 2; }
timeout 90 ./probe || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
