#!/usr/bin/env bash
# Cyclone DDS (Python binding 11.0.1): a reliable reader that keeps all samples
# and orders them by source timestamp throws away each that comes out of order.
#
# One would expect: RELIABLE with KEEP_ALL loses nothing, and BY_SOURCE_TIMESTAMP is an
# order: what comes late is put in its place. That is what the specification gives
# as its purpose, that all readers end with the same last value.
#
# Seen: of an instance only ever newer samples are taken, whatever the history. Of two
# writers whose clocks are ten seconds apart the reader gets all of one and none of the
# other, though to the writers all were acknowledged; only SAMPLE_LOST counts
# them. By time of reception (everything else the same) all come.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: cyclonedds==11.0.1 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: cyclonedds 11.0.1 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import sys
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import key
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

PATIENCE = 30


@dataclass
class Value(IdlStruct, typename="Value"):
    id: int
    key("id")
    value: int


def wait_until(what, is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            print("not tried: waited in vain until", what)
            sys.exit(2)
        time.sleep(0.01)


COUNT, LAST_KEY = 10, 1


def received(order):
    """Two writers write in turns; the second one's clock is ten seconds behind."""
    qos = Qos(Policy.Reliability.Reliable(duration(seconds=10)), Policy.History.KeepAll, order)
    writing, reading = DomainParticipant(), DomainParticipant()
    topics = [Topic(participant, type(order).__name__, Value) for participant in (writing, reading)]
    reader = DataReader(reading, topics[1], qos=qos)
    writers = [DataWriter(writing, topics[0], qos=qos) for _ in range(2)]
    wait_until("the reader is known", lambda: all(writer.get_matched_subscriptions() for writer in writers))
    now = time.time_ns()
    for i in range(COUNT):
        for number, writer in enumerate(writers):
            writer.write(Value(0, number), timestamp=now + i * 1000 - number * 10 * 10**9)
    for writer in writers:
        writer.write(Value(LAST_KEY + writers.index(writer), 0), timestamp=now)
        if not writer.wait_for_acks(duration(seconds=PATIENCE)):
            print("not tried: the reader does not acknowledge")
            sys.exit(2)
    samples = []

    def are_last_there():
        samples.extend(reader.take(1000))
        return len([sample for sample in samples if sample.id >= LAST_KEY]) == len(writers)

    wait_until("the last samples come", are_last_there)
    lost = reader.get_sample_lost_status().total_count
    return [len([s for s in samples if s.id == 0 and s.value == number]) for number in range(2)], lost


by_source, lost = received(Policy.DestinationOrder.BySourceTimestamp)
by_reception, none_lost = received(Policy.DestinationOrder.ByReceptionTimestamp)
print(f"{COUNT} samples of a writer, {COUNT} of another whose clock is behind; received by source timestamp: {by_source}")
print("counted as lost:", lost)
print(f"received by time of reception: {by_reception}, lost: {none_lost}")
if (by_source, lost, by_reception, none_lost) != ([COUNT, 0], COUNT, [COUNT, COUNT], 0):
    print("changed: stated was", ([COUNT, 0], COUNT, [COUNT, COUNT], 0))
    sys.exit(1)
PY
# A network of its own, with nothing but the loopback device: the library's socket listens on every address.
export CYCLONEDDS_URI='<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>none</ParticipantIndex></Discovery>'
unshare --map-root-user --net ip link set lo up 2>"$dir/log" ||
    { cat "$dir/log" || true; echo "not tried: no network namespace can be made"; exit 2; }
unshare --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh "$dir/venv/bin/python" "$dir/probe.py"
