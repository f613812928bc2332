#!/bin/sh
# Records the captures in this folder: Cyclone DDS (ddsperf) over the loopback of a network namespace
# of its own. Needs root, and Debian's cyclonedds-tools, tcpdump and tshark.
# The expectations beside them are what tshark reads in the whole packets (see expect.py).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
ns=rtps-record-$$
ip netns add "$ns"
trap 'ip netns del "$ns"; rm -r "$work"' EXIT
ip -n "$ns" link set lo up

config() { # LOST_PER_MILLE
    cat <<EOF
<CycloneDDS><Domain>
  <General>
    <Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces>
    <AllowMulticast>false</AllowMulticast>
  </General>
  <Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers></Discovery>
  <Internal><Test><XmitLossiness>$1</XmitLossiness></Test></Internal>
</Domain></CycloneDDS>
EOF
}

record() { # NAME SNAP_BYTES LOST_PER_MILLE DDSPERF_OPTIONS MODE…
    name=$1 snap=$2 lost=$3 options=$4
    shift 4
    config "$lost" >"$work/config.xml"
    export CYCLONEDDS_URI="file://$work/config.xml"
    : >"$work/log"
    ip netns exec "$ns" tcpdump -i lo -s 0 -U --immediate-mode -B 65536 -w "$work/$name.pcap" udp 2>"$work/log" &
    dump=$!
    until grep -q listening "$work/log"; do :; done
    # shellcheck disable=SC2086
    ip netns exec "$ns" ddsperf $options -D 2 sub >"$work/sub" &
    sub=$!
    # shellcheck disable=SC2086
    ip netns exec "$ns" ddsperf $options -D 2 "$@" >"$work/pub"
    wait "$sub" || true
    echo "$name, as the subscriber counts:"
    grep -h -E "total|rtt" "$work/sub" "$work/pub" | tail -n 3 || true
    kill "$dump"
    wait "$dump" || true
    tshark -r "$work/$name.pcap" -T pdml 2>/dev/null | python3 "$here/expect.py" >"$here/$name.tsv"
    editcap -F pcap -s "$snap" "$work/$name.pcap" "$here/$name.pcap"
}

record small 65535 0 "" pub 8Hz size 64
record ping 65535 0 "-u" ping 5Hz size 12
record repaired 65535 200 "" pub 16Hz size 4k
record fragments 1500 0 "" pub 2Hz size 200k
