package main

import (
	"context"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

func main() {
	ctx := context.Background()
	var open sync.WaitGroup
	writer := &kafka.Writer{Addr: kafka.TCP(address), Topic: topic, BatchTimeout: 5 * time.Millisecond, Async: true}
	writer.Completion = func(done []kafka.Message, err error) {
		check(err)
		open.Add(-len(done))
	}
	run(func(payload []byte) {
		open.Add(1)
		check(writer.WriteMessages(ctx, kafka.Message{Value: payload}))
	}, open.Wait, func(take func()) {
		reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{address}, Topic: topic, Partition: 0, MinBytes: 1, MaxBytes: 1 << 20})
		go func() {
			for {
				_, err := reader.ReadMessage(ctx)
				check(err)
				take()
			}
		}()
	})
}
