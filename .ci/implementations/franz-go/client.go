package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	options := []kgo.Opt{kgo.SeedBrokers(address)}
	if role == "sub" {
		options = append(options, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	}
	client, err := kgo.NewClient(options...)
	check(err)
	ctx := context.Background()
	check(client.Ping(ctx))
	run(func(payload []byte) {
		client.Produce(ctx, &kgo.Record{Topic: topic, Value: payload}, func(_ *kgo.Record, err error) { check(err) })
	}, func() { check(client.Flush(ctx)) }, func(take func()) {
		go func() {
			for {
				client.PollFetches(ctx).EachRecord(func(*kgo.Record) { take() })
			}
		}()
	})
}
