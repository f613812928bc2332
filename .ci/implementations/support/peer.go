package main

// What clients in Go share; see peer.py.

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

func number(name string, other int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return other
}

var (
	role     = os.Args[1]
	address  = "127.0.0.1:" + os.Getenv("PORT")
	topic    = "truth"
	messages = number("MESSAGES", 300)
	rate     = number("RATE", 200)
	qos      = byte(number("QOS", 0))
	size     = number("PAYLOAD", 64)
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func payloadOf(count int) []byte {
	head := []byte(fmt.Sprintf("%08d", count))
	if os.Getenv("EQUAL") == "1" {
		head = nil
	}
	return append(head, bytes.Repeat([]byte("."), size)...)[:size]
}

// The clients' part: publish and flush of a publisher, subscribe of a subscriber.
func run(publish func([]byte), flush func(), subscribe func(take func())) {
	lines := bufio.NewScanner(os.Stdin)
	var received atomic.Int64
	if role == "sub" {
		subscribe(func() {
			if received.Add(1) == int64(messages) {
				fmt.Println("all")
			}
		})
	}
	fmt.Println("ready")
	lines.Scan()
	if role == "sub" {
		fmt.Printf("done {\"received\": %d}\n", received.Load())
		return
	}
	begun := time.Now()
	for count := range messages {
		time.Sleep(time.Until(begun.Add(time.Duration(count) * time.Second / time.Duration(rate))))
		publish(payloadOf(count))
	}
	flush()
	fmt.Printf("done {\"sent\": %d}\n", messages)
	lines.Scan()
}
