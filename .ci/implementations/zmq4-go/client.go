package main

import (
	"context"

	"github.com/go-zeromq/zmq4"
)

// PUSH and PULL: its PUB does not tell when somebody subscribed.
func main() {
	ctx := context.Background()
	var socket zmq4.Socket
	if role == "pub" {
		socket = zmq4.NewPush(ctx)
		check(socket.Listen("tcp://" + address))
	} else {
		socket = zmq4.NewPull(ctx)
		check(socket.Dial("tcp://" + address))
	}
	run(func(payload []byte) { check(socket.Send(zmq4.NewMsg(payload))) }, func() {}, func(take func()) {
		go func() {
			for {
				_, err := socket.Recv()
				check(err)
				take()
			}
		}()
	})
}
