package main

import "github.com/IBM/sarama"

func main() {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	client, err := sarama.NewClient([]string{address}, config)
	check(err)
	var producer sarama.AsyncProducer
	if role == "pub" {
		producer, err = sarama.NewAsyncProducerFromClient(client)
		check(err)
	}
	done := make(chan bool)
	run(func(payload []byte) {
		producer.Input() <- &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(payload)}
		go func() { <-producer.Successes(); done <- true }()
	}, func() {
		for range messages {
			<-done
		}
	}, func(take func()) {
		consumer, err := sarama.NewConsumerFromClient(client)
		check(err)
		partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
		check(err)
		go func() {
			for range partition.Messages() {
				take()
			}
		}()
	})
}
