#!/bin/sh
# Records the captures in this folder on the loopback of a network namespace of its own. Needs root, tcpdump and a
# Python with eclipse-zenoh 1.10 (PYTHON=…).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
ns=dissectors-record-$$
ip netns add "$ns"
started=
# shellcheck disable=SC2086
trap 'kill $started 2>/dev/null || true; ip netns del "$ns"; rm -r "$work"' EXIT
ip -n "$ns" link set lo up multicast on
ip -n "$ns" route add 224.0.0.0/4 dev lo

for transport in tcp udp; do
    : >"$work/log"
    ip netns exec "$ns" tcpdump -Z root -i lo -Q in -s 0 -U --immediate-mode -B 65536 -w "$work/pcap" "$transport" 2>"$work/log" &
    dump=$!
    started="$started $dump"
    until grep -q listening "$work/log"; do :; done
    ip netns exec "$ns" "$python" "$here/zenoh_session.py" "$transport"
    kill -INT "$dump"
    wait "$dump" || true
    grep -q "^0 packets dropped by kernel" "$work/log"
    mv "$work/pcap" "$here/zenoh-$transport.pcap"
done
