#!/bin/sh
# Records the captures in this folder: an agent of Micro XRCE-DDS (with its broker inside the process,
# `-m ced`) and the example clients of its library, one that publishes and one that subscribes, over the
# loopback of a network namespace of its own. Needs root, tcpdump, and those programs in $XRCE_BIN.
# What the clients print is the truth: how many samples were sent and received. Nothing else reads XRCE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
ns=xrce-record-$$
port=8888
ip netns add "$ns"
trap 'ip netns del "$ns"; rm -r "$work"' EXIT
ip -n "$ns" link set lo up

record() { # NAME TRANSPORT PUBLISHER SUBSCRIBER SAMPLES
    : >"$work/log"
    ip netns exec "$ns" tcpdump -i lo -s 0 -U --immediate-mode -B 65536 -w "$work/$1.pcap" port "$port" 2>"$work/log" &
    dump=$!
    ip netns exec "$ns" "$XRCE_BIN/MicroXRCEAgent" "$2" -p "$port" -m ced >"$work/agent" 2>&1 &
    agent=$!
    until grep -q listening "$work/log"; do :; done
    until ip netns exec "$ns" ss -Hlntu | grep -q ":$port "; do :; done
    ip netns exec "$ns" stdbuf -oL "$XRCE_BIN/$4" 127.0.0.1 "$port" "$5" >"$work/sub" &
    sub=$!
    # Its reader was created when the agent was asked for data and said so.
    until [ "$(tcpdump -r "$work/$1.pcap" 2>/dev/null | wc -l)" -ge 8 ]; do :; done
    ip netns exec "$ns" stdbuf -oL "$XRCE_BIN/$3" 127.0.0.1 "$port" "$5" >"$work/pub"
    wait "$sub" || true
    echo "$1: $(grep -c -i sen[dt] "$work/pub") sent, $(grep -c -i receiv "$work/sub") received"
    kill "$agent" "$dump"
    wait "$agent" "$dump" || true
    cp "$work/$1.pcap" "$here/$1.pcap"
}

record reliable udp4 PublishHelloWorldClient SubscribeHelloWorldClient 5
record best-effort udp4 PublishHelloWorldClientBestEffort SubscribeHelloWorldClientBestEffort 5
record fragments udp4 PublishBigHelloWorldClient SubscribeBigHelloWorldClient 1
record tcp tcp4 PublishHelloWorldClientTcp SubscribeHelloWorldClientTcp 5
