package main

import (
	"context"
	"sync"
	"time"

	"github.com/gopcua/opcua"
	"github.com/gopcua/opcua/ua"
)

func main() {
	ctx := context.Background()
	client, err := opcua.NewClient("opc.tcp://" + address + "/truth")
	check(err)
	check(client.Connect(ctx))
	node := ua.NewStringNodeID(2, "truth")
	run(func(payload []byte) {
		value := &ua.DataValue{EncodingMask: ua.DataValueValue, Value: ua.MustVariant(payload)}
		request := &ua.WriteRequest{NodesToWrite: []*ua.WriteValue{{NodeID: node, AttributeID: ua.AttributeIDValue, Value: value}}}
		answer, err := client.Write(ctx, request)
		check(err)
		if answer.Results[0] != ua.StatusOK {
			check(answer.Results[0])
		}
	}, func() {}, func(take func()) {
		changes := make(chan *opcua.PublishNotificationData)
		subscription, err := client.Subscribe(ctx, &opcua.SubscriptionParameters{Interval: 10 * time.Millisecond}, changes)
		check(err)
		item := opcua.NewMonitoredItemCreateRequestWithDefaults(node, ua.AttributeIDValue, 1)
		item.RequestedParameters.QueueSize = 1000
		item.RequestedParameters.SamplingInterval = 0
		_, err = subscription.Monitor(ctx, ua.TimestampsToReturnBoth, item)
		check(err)
		begun, isBegun := make(chan bool), sync.Once{}
		go func() {
			for change := range changes {
				check(change.Error)
				data, _ := change.Value.(*ua.DataChangeNotification)
				if data == nil {
					continue
				}
				for _, item := range data.MonitoredItems {
					// The value that the server had before is not one that was written.
					if value, _ := item.Value.Value.Value().([]byte); len(value) > 0 {
						take()
					} else {
						isBegun.Do(func() { close(begun) })
					}
				}
			}
		}()
		<-begun
	})
}
