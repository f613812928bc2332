package main

import "github.com/nats-io/nats.go"

func main() {
	client, err := nats.Connect(address)
	check(err)
	run(func(payload []byte) { check(client.Publish(topic, payload)) }, func() { check(client.Flush()) }, func(take func()) {
		_, err := client.Subscribe(topic, func(*nats.Msg) { take() })
		check(err)
		check(client.Flush())
	})
}
