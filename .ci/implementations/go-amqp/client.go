package main

import (
	"context"

	"github.com/Azure/go-amqp"
)

func main() {
	ctx := context.Background()
	connection, err := amqp.Dial(ctx, "amqp://"+address, &amqp.ConnOptions{SASLType: amqp.SASLTypePlain("guest", "guest")})
	check(err)
	session, err := connection.NewSession(ctx, nil)
	check(err)
	var sender *amqp.Sender
	if role == "pub" {
		sender, err = session.NewSender(ctx, topic, nil)
		check(err)
	}
	run(func(payload []byte) {
		check(sender.Send(ctx, amqp.NewMessage(payload), nil))
	}, func() {}, func(take func()) {
		receiver, err := session.NewReceiver(ctx, topic, &amqp.ReceiverOptions{Credit: 100})
		check(err)
		go func() {
			for {
				message, err := receiver.Receive(ctx, nil)
				check(err)
				check(receiver.AcceptMessage(ctx, message))
				take()
			}
		}()
	})
}
