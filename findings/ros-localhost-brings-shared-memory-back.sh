#!/usr/bin/env bash
# ROS 2 (rclpy 9.1.2 on Fast DDS 3.2.3, rmw_fastrtps_cpp 9.3.3): who keeps discovery on
# the own host (ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST) has no say in the transports:
# FASTDDS_BUILTIN_TRANSPORTS=UDPv4 is ignored without a word.
#
# One would expect: the one variable says who is found, the other one by which
# transports samples go. UDPv4 alone is what one sets so that a capture shows them,
# or where processes share no /dev/shm.
#
# Seen: with UDPv4 alone a publisher's samples are in UDP datagrams of the loopback
# device, megabytes of them. With LOCALHOST beside it, the same samples go through
# shared memory (segments in /dev/shm), the device carries almost nothing, and the
# subscriber gets as many.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --prefer-binary \
        ros-rclpy==9.1.2 ros-rmw-fastrtps-cpp==9.3.3 ros-fastdds==3.2.3 ros-std-msgs==5.5.1 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: rclpy 9.1.2 could not be installed"; exit 2; }

cat >"$dir/node.py" <<'PY'
import sys
import time

import rclpy
from rclpy.node import Node
from std_msgs.msg import String

PATIENCE = 40
SAMPLES, BYTES = 200, 10_000

rclpy.init()
node = Node(sys.argv[1])
got = []


def spin_until(what, is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            print("not tried: waited in vain until", what)
            sys.exit(2)
        rclpy.spin_once(node, timeout_sec=0.05)


if sys.argv[1] == "reader":
    node.create_subscription(String, "samples", lambda sample: got.append(len(sample.data)), 500)
    spin_until("all samples are there", lambda: len(got) == SAMPLES)
    print(len(got))
else:
    publisher = node.create_publisher(String, "samples", 500)
    spin_until("the reader is found", lambda: publisher.get_subscription_count() == 1)
    time.sleep(1)
    for _ in range(SAMPLES):
        publisher.publish(String(data="x" * BYTES))
        time.sleep(0.005)
    spin_until("all are acknowledged", lambda: publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=0.1)))
PY
cat >"$dir/measure" <<'SH'
# Runs both nodes in a network and a /dev/shm of their own. Prints samples, bytes of the device, and segments in shared memory.
set -eu
ip link set lo up
ip link set lo multicast on
ip route add 224.0.0.0/4 dev lo
mount -t tmpfs none /dev/shm
bytes() { awk '$1 == "lo:" { print $10 }' /proc/net/dev; }
"$1" "$2" reader >"$3" &
reader=$!
"$1" "$2" writer &
writer=$!
segments=0
while kill -0 "$writer" 2>/dev/null; do
    now=$(find /dev/shm -name 'fastdds_*' | wc -l)
    if [ "$now" -gt "$segments" ]; then segments=$now; fi
    sleep 0.1
done
wait "$writer"
wait "$reader"
echo "$(cat "$3") $(bytes) $segments"
SH

run() {
    unshare --map-root-user --net --mount env RMW_IMPLEMENTATION=rmw_fastrtps_cpp FASTDDS_BUILTIN_TRANSPORTS=UDPv4 "$@" \
        sh "$dir/measure" "$dir/venv/bin/python" "$dir/node.py" "$dir/got" 2>"$dir/log" ||
        { cat "$dir/log" "$dir/got" >&2; echo "not tried: the nodes did not run" >&2; exit 2; }
}
read -r samples plain plain_segments < <(run) || exit 2
read -r samples_here here here_segments < <(run ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST) || exit 2

echo "UDPv4 alone:              $samples samples of 10,000 bytes, $plain bytes on the device, $plain_segments segments in /dev/shm"
echo "UDPv4 and LOCALHOST:      $samples_here samples of 10,000 bytes, $here bytes on the device, $here_segments segments in /dev/shm"
if [ "$samples" != 200 ] || [ "$samples_here" != 200 ] || [ "$plain" -lt 2000000 ] || [ "$plain_segments" != 0 ]; then
    echo "not tried: the nodes did not get what was sent over UDP"
    exit 2
fi
if [ "$here" -gt 1000000 ] || [ "$here_segments" = 0 ]; then
    echo "changed: stated was that LOCALHOST brings shared memory back"
    exit 1
fi
