#!/bin/sh
# Records ros.pcap: two processes of ROS 2 (rmw_fastrtps) over the loopback of a network namespace of its own. Needs root,
# tcpdump, tshark, and a Python with ROS 2: pip install ros-rclpy ros-std-msgs ros-std-srvs ros-test-msgs ros-rmw-fastrtps-cpp
# Of the many packets that say the same, ros_pick.py keeps one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
ns=ros-record-$$
ip netns add "$ns"
trap 'ip netns del "$ns"; rm -r "$work"' EXIT
ip -n "$ns" link set lo up multicast on
ip -n "$ns" route add 224.0.0.0/4 dev lo
# Processes of one host would use shared memory.
export FASTDDS_BUILTIN_TRANSPORTS=UDPv4
: >"$work/log"
ip netns exec "$ns" tcpdump -i lo -s 0 -U --immediate-mode -w "$work/ros.pcap" udp 2>"$work/log" &
dump=$!
until grep -q listening "$work/log"; do :; done
ip netns exec "$ns" "$python" "$here/ros_session.py" a 3 &
first=$!
ip netns exec "$ns" "$python" "$here/ros_session.py" b 3
wait "$first"
kill "$dump"
wait "$dump" || true
# shellcheck disable=SC2046
editcap -F pcap -r "$work/ros.pcap" "$here/ros.pcap" $(
    tshark -r "$work/ros.pcap" -Y 'rtps.sm.id == 0x15' -T fields -e frame.number -e rtps.guidPrefix.src \
        -e rtps.sm.wrEntityId -e rtps.sm.seqNumber 2>/dev/null | python3 "$here/ros_pick.py"
)
