"""Eclipse Paho. `version=5` and `alias=N` publish by a topic alias that is set before `ready`; `filters=A,B` are subscribed to;
`beside=TOPIC` publishes there with QoS 0 right after each message; `session=NAME` has a session that outlives the connection.
"""

import socket
import threading

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties


class Link:
    def __init__(self, chosen):
        self.chosen, self.subscribed = chosen, threading.Event()
        version = paho.MQTTv5 if chosen.settings.get("version") == "5" else paho.MQTTv311
        session = chosen.settings.get("session", "")
        clean = None if version == paho.MQTTv5 else not session
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, session, clean, protocol=version)
        self.client.max_inflight_messages_set(0)
        # What a session kept comes before anything is subscribed to.
        self.kept, self.take = [], None
        self.client.on_message = lambda _client, _data, message: (self.take or self.kept.append)(message.payload)
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
        self.topic, self.properties = chosen.topic, None
        if "alias" in chosen.settings and chosen.role == "pub":
            self.properties = Properties(PacketTypes.PUBLISH)
            self.properties.TopicAlias = int(chosen.settings["alias"])
            self.publish(b"this sets the alias")
            self.flush()
            self.topic = ""

    def publish(self, payload):
        retain = "retain" in self.chosen.settings
        self.last = self.client.publish(self.topic, payload, self.chosen.qos, retain, self.properties)
        if "beside" in self.chosen.settings:
            self.client.publish(self.chosen.settings["beside"], payload)

    def flush(self):
        self.last.wait_for_publish(60)

    def subscribe(self, take):
        self.take = take
        for filter in self.chosen.settings.get("filters", self.chosen.topic).split(","):
            self.subscribed.clear()
            self.client.subscribe(filter, self.chosen.qos)
            self.subscribed.wait(30)
        for payload in self.kept:
            take(payload)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()
