"""Eclipse Zenoh's Python API: `listen` is the side that is connected to; `mode=router` makes it a router."""

import importlib
import json

library = importlib.import_module("zenoh")


class Link:
    def __init__(self, chosen):
        self.chosen = chosen
        config = library.Config()
        config.insert_json5("mode", json.dumps(chosen.settings.get("mode", "peer")))
        config.insert_json5("scouting/multicast/enabled", "false")
        listen = chosen.role == "listen" or chosen.settings.get("listen")
        transport = chosen.settings.get("transport", "tcp")
        end = [f"{transport}/{chosen.address}"]
        config.insert_json5("listen/endpoints", json.dumps(end if listen else []))
        if not listen:
            config.insert_json5("connect/endpoints", json.dumps(end))
        self.session = library.open(config)
        if chosen.role == "pub":
            reliable = library.CongestionControl.BLOCK
            self.publisher = self.session.declare_publisher(
                chosen.topic, congestion_control=reliable, express=True
            )

    def publish(self, payload):
        if self.chosen.role == "ask":
            return len(list(self.session.get(self.chosen.topic, payload=payload)))
        self.publisher.put(payload)

    def flush(self):
        pass

    def subscribe(self, take):
        def answer(query):
            payload = query.payload.to_bytes()
            take(payload)
            query.reply(self.chosen.topic, payload)

        if self.chosen.role == "answer":
            self.queryable = self.session.declare_queryable(self.chosen.topic, answer)
        elif self.chosen.settings.get("mode") != "router":
            take_sample = lambda sample: take(sample.payload.to_bytes())
            self.subscriber = self.session.declare_subscriber(self.chosen.topic, take_sample)

    def close(self):
        self.session.close()
