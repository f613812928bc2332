"""Zenoh's Python API. The settings `transport` (tcp, udp, ws) and `config` (by key) are for both sides; `mode` and `listen` for one."""

import json
import threading

import zenoh


class Link:
    def __init__(self, chosen):
        self.topic, settings = chosen.topic, chosen.settings
        config = zenoh.Config()
        config.insert_json5("mode", json.dumps(settings.get("mode", "peer")))
        config.insert_json5("scouting/multicast/enabled", "false")
        end = [f"{settings.get('transport', 'tcp')}/{chosen.address}"]
        config.insert_json5("listen/endpoints", json.dumps(end if settings.get("listen") else []))
        config.insert_json5("connect/endpoints", json.dumps([] if settings.get("listen") else end))
        for key, value in settings.get("config", {}).items():
            config.insert_json5(key, json.dumps(value))
        self.session = zenoh.open(config)
        if chosen.role == "pub":
            self.declare()

    def declare(self):
        """A publisher is ready once it knows of a subscriber: before that, what is put goes nowhere."""
        blocks = zenoh.CongestionControl.BLOCK
        self.publisher = self.session.declare_publisher(self.topic, congestion_control=blocks, express=True)
        matched = threading.Event()
        listener = self.publisher.declare_matching_listener(lambda status: matched.set() if status.matching else None)
        if not self.publisher.matching_status.matching and not matched.wait(30):
            raise TimeoutError("no subscriber within 30 s")
        listener.undeclare()

    def publish(self, payload):
        self.publisher.put(payload)

    def flush(self):
        pass

    def subscribe(self, take):
        self.subscriber = self.session.declare_subscriber(self.topic, lambda sample: take(sample.payload.to_bytes()))
