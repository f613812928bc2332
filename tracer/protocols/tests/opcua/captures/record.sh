#!/bin/sh
# Records the captures in this folder: asyncua over the loopback of a network namespace of its own.
# Needs root, openssl, Debian's tcpdump and tshark, and a Python with asyncua as $PYTHON.
# The expectations beside them are what tshark reads (see expect.py). What an encrypted or a signed
# channel carries tshark does not read; for those there are none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
ns=opcua-record-$$
port=48400
ip netns add "$ns"
trap 'ip netns del "$ns"; rm -r "$work"' EXIT
ip -n "$ns" link set lo up

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=example -outform der \
    -addext subjectAltName=URI:urn:freeopcua:client,IP:127.0.0.1 \
    -keyout "$work/key.pem" -out "$work/certificate.der" 2>"$work/openssl"

record() { # NAME OPTIONS…
    name=$1
    shift
    : >"$work/log"
    ip netns exec "$ns" tcpdump -i lo -s 0 -U --immediate-mode -B 65536 -w "$work/$name.pcap" tcp 2>"$work/log" &
    dump=$!
    until grep -q listening "$work/log"; do :; done
    echo "$name, as the subscriber was told:"
    ip netns exec "$ns" "${PYTHON:-python3}" "$here/traffic.py" "$port" "$@" 2>"$work/$name.err" | tee "$work/$name.told"
    kill "$dump"
    wait "$dump" || true
    cp "$work/$name.pcap" "$here/$name.pcap"
}

record plain
tshark -r "$here/plain.pcap" -d "tcp.port==$port,opcua" -Y opcua -T pdml 2>/dev/null |
    python3 "$here/expect.py" >"$here/plain.tsv"
record sign "$work/certificate.der" "$work/key.pem" Sign
record encrypt "$work/certificate.der" "$work/key.pem" SignAndEncrypt
