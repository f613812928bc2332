"""Eclipse Paho."""

import socket
import threading

import paho.mqtt.client as paho


class Link:
    def __init__(self, chosen):
        self.chosen, self.subscribed = chosen, threading.Event()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
        self.client.max_inflight_messages_set(0)
        host, port = chosen.address.rsplit(":", 1)
        connected = threading.Event()
        self.client.on_connect = lambda *_: connected.set()
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        self.client.connect(host, int(port), keepalive=int(chosen.settings.get("keepalive", 60)))
        if "nodelay" in chosen.settings:
            self.client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client.loop_start()
        if not connected.wait(30):
            raise TimeoutError("no CONNACK within 30 s")

    def publish(self, payload):
        self.last = self.client.publish(self.chosen.topic, payload, self.chosen.qos)

    def flush(self):
        self.last.wait_for_publish(60)

    def subscribe(self, take):
        self.client.on_message = lambda _client, _data, message: take(message.payload)
        self.client.subscribe(self.chosen.topic, self.chosen.qos)
        self.subscribed.wait(30)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()
