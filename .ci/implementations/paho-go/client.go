package main

import (
	"os"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

func wait(token mqtt.Token) {
	token.Wait()
	check(token.Error())
}

func main() {
	client := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://" + address).SetClientID("go-" + role + os.Getenv("NUMBER")))
	wait(client.Connect())
	var last mqtt.Token
	run(func(payload []byte) { last = client.Publish(topic, qos, false, payload) },
		func() { wait(last) },
		func(take func()) {
			wait(client.Subscribe(topic, qos, func(mqtt.Client, mqtt.Message) { take() }))
		})
}
