#!/usr/bin/env bash
# Cyclone DDS (Python binding 11.0.1): a writer that keeps the last three values
# (TRANSIENT_LOCAL, KEEP_LAST 3) gives a late reader of the same depth only one.
#
# One would expect: transient-local means that the writer's own history is there for
# readers that come later, and its depth is that of the HISTORY policy: three. The
# DDS specification ties DURABILITY_SERVICE to a service for TRANSIENT and
# PERSISTENT data.
#
# Seen: what a late reader gets is bounded by DURABILITY_SERVICE, whose depth is 1
# unless set, for TRANSIENT_LOCAL as well. A reader that was there from the start
# keeps three values, the late one gets one; the policies match and no status tells
# of a loss. With a durability service of depth 3 both have three. A port from
# an implementation that takes HISTORY here loses its start-up history silently.
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
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import key
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

LAST_KEY = 1


@dataclass
class Value(IdlStruct, typename="Value"):
    id: int
    key("id")
    value: int


def values(reader):
    """All values before the one that was written last."""
    taken = []
    for sample in reader.take_iter(timeout=duration(seconds=10)):
        if sample.id == LAST_KEY:
            return taken
        taken.append(sample.value)
    print("not tried: the last value did not come")
    sys.exit(2)


def early_and_late(name, *more):
    qos = Qos(
        Policy.Reliability.Reliable(duration(seconds=10)),
        Policy.Durability.TransientLocal,
        Policy.History.KeepLast(3),
        *more,
    )
    writing, reading = DomainParticipant(), DomainParticipant()
    early = DataReader(reading, Topic(reading, name, Value, qos=qos), qos=qos)
    writer = DataWriter(writing, Topic(writing, name, Value, qos=qos), qos=qos)
    for i in range(1, 11):
        writer.write(Value(0, i))
    late = DataReader(reading, Topic(reading, name, Value, qos=qos), qos=qos)
    writer.write(Value(LAST_KEY, 0))
    return values(early), values(late)


usual = early_and_late("Usual")
service = Policy.DurabilityService(duration(seconds=0), Policy.History.KeepLast(3), -1, -1, -1)
deeper = early_and_late("Deeper", service)
print("values 1 to 10 are written, KEEP_LAST 3 on both sides (early reader, late reader):", usual)
print("with a durability service of depth 3 as well:", deeper)
if usual != ([8, 9, 10], [10]) or deeper != ([8, 9, 10], [8, 9, 10]):
    print("changed: stated was ([8, 9, 10], [10]), then ([8, 9, 10], [8, 9, 10])")
    sys.exit(1)
PY
# A network of its own, with nothing but the loopback device: the library's socket listens on every address.
export CYCLONEDDS_URI='<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>none</ParticipantIndex></Discovery>'
unshare --map-root-user --net ip link set lo up 2>"$dir/log" ||
    { cat "$dir/log" || true; echo "not tried: no network namespace can be made"; exit 2; }
unshare --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh "$dir/venv/bin/python" "$dir/probe.py"
