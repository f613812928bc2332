package main

import (
	"context"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	connection, err := amqp.Dial("amqp://guest:guest@" + address)
	check(err)
	channel, err := connection.Channel()
	check(err)
	_, err = channel.QueueDeclare(topic, false, false, false, false, nil)
	check(err)
	check(channel.Confirm(false))
	var open []*amqp.DeferredConfirmation
	run(func(payload []byte) {
		confirmation, err := channel.PublishWithDeferredConfirmWithContext(context.Background(), "", topic, false, false, amqp.Publishing{Body: payload})
		check(err)
		open = append(open, confirmation)
	}, func() {
		for _, confirmation := range open {
			confirmation.Wait()
		}
	}, func(take func()) {
		deliveries, err := channel.Consume(topic, "", false, false, false, false, nil)
		check(err)
		go func() {
			for delivery := range deliveries {
				check(delivery.Ack(false))
				take()
			}
		}()
	})
}
