"""Cyclone DDS's Python API. CYCLONEDDS_URI has the settings that the situation wants."""

import dataclasses
import pathlib
import threading
import time

from cyclonedds.core import Policy, Qos, ReadCondition, SampleState, WaitSet
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import sequence, uint8
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclasses.dataclass
class Sample(IdlStruct, typename="Sample"):
    payload: sequence[uint8]


class Link:
    def __init__(self, chosen):
        self.chosen, self.over = chosen, threading.Event()
        best_effort = chosen.settings.get("reliability") == "best-effort"
        if name := chosen.settings.get("name"):
            # What the process is called, before it has threads.
            pathlib.Path("/proc/self/comm").write_text(name)
        policies = [
            Policy.Reliability.BestEffort if best_effort else Policy.Reliability.Reliable(duration(seconds=10)),
            Policy.History.KeepAll,
        ]
        if "history" in chosen.settings:
            # Who joins late gets what was written before.
            policies += [
                Policy.Durability.TransientLocal,
                Policy.DurabilityService(
                    duration(seconds=0), Policy.History.KeepAll, max_samples=-1, max_instances=-1, max_samples_per_instance=-1
                ),
            ]
        qos = Qos(*policies)
        participant = DomainParticipant(int(chosen.settings.get("domain", 0)))
        topic = Topic(participant, chosen.topic, Sample, qos=qos)
        if chosen.role == "pub":
            self.writer = DataWriter(Publisher(participant), topic, qos=qos)
            deadline = time.monotonic() + 30
            while len(self.writer.get_matched_subscriptions()) < int(chosen.settings.get("readers", 1)):
                if time.monotonic() > deadline:
                    raise TimeoutError("no reader within 30 s")
                time.sleep(0.05)
        else:
            self.reader = DataReader(Subscriber(participant), topic, qos=qos)
        self.participant = participant

    def publish(self, payload):
        self.writer.write(Sample(payload=payload))

    def flush(self):
        time.sleep(float(self.chosen.settings.get("linger", 3)))

    def subscribe(self, take):
        waits = WaitSet(self.participant)
        waits.attach(ReadCondition(self.reader, SampleState.Any))

        def read():
            while not self.over.is_set():
                waits.wait(duration(milliseconds=100))
                for sample in self.reader.take(100):
                    if hasattr(sample, "payload"):
                        take(bytes(sample.payload))

        threading.Thread(target=read, daemon=True).start()

    def close(self):
        self.over.set()
