package main

import (
	"os"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
)

func main() {
	server := mqtt.New(nil)
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		panic(err)
	}
	config := listeners.Config{ID: "tcp", Address: "127.0.0.1:" + os.Getenv("PORT")}
	if err := server.AddListener(listeners.NewTCP(config)); err != nil {
		panic(err)
	}
	if err := server.Serve(); err != nil {
		panic(err)
	}
	select {}
}
