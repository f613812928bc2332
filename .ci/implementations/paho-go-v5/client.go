package main

import (
	"context"
	"net"

	"github.com/eclipse/paho.golang/paho"
)

func main() {
	ctx := context.Background()
	connection, err := net.Dial("tcp", address)
	check(err)
	client := paho.NewClient(paho.ClientConfig{Conn: connection})
	_, err = client.Connect(ctx, &paho.Connect{ClientID: "go5-" + role, CleanStart: true, KeepAlive: 60})
	check(err)
	run(func(payload []byte) {
		_, err := client.Publish(ctx, &paho.Publish{Topic: topic, QoS: qos, Payload: payload})
		check(err)
	}, func() {}, func(take func()) {
		client.AddOnPublishReceived(func(paho.PublishReceived) (bool, error) { take(); return true, nil })
		_, err := client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: qos}}})
		check(err)
	})
}
