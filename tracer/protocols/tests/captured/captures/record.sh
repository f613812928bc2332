#!/bin/sh
# Records the captures in this folder on the loopback of a network namespace of its own. Needs root, tcpdump,
# nats-server, rabbitmq-server, and a Python with nats-py, pyzmq, pika, amqtt, websockets and pyzeros (PYTHON=…).
# The expectations beside them are what nats-server counted and what the programs themselves sent and got.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
ns=captured-record-$$
ip netns add "$ns"
started=
# shellcheck disable=SC2086
trap 'kill $started 2>/dev/null || true; ip netns del "$ns"; rm -r "$work"' EXIT
ip -n "$ns" link set lo up

record() { # NAME PORTS
    : >"$work/log"
    ip netns exec "$ns" tcpdump -i lo -s 0 -U --immediate-mode -B 65536 -w "$work/$1.pcap" "$2" 2>"$work/log" &
    dump=$!
    started="$started $dump"
    until grep -q listening "$work/log"; do :; done
    ip netns exec "$ns" "$python" "$here/$1_session.py" >"$here/$1.tsv"
    kill -INT "$dump"
    wait "$dump" || true
    grep -q "^0 packets dropped by kernel" "$work/log"
    # One packet at most of a connection's end may be missing: nothing is in it.
    mv "$work/$1.pcap" "$here/$1.pcap"
}

ip netns exec "$ns" nats-server -a 127.0.0.1 -p 4222 -m 8222 -js -sd "$work/store" -l "$work/server.log" &
server=$!
started=$server
until grep -q "Server is ready" "$work/server.log" 2>/dev/null; do :; done
record nats "tcp port 4222"
kill "$server"
wait "$server" || true
record zmtp "tcp portrange 5551-5559"

printf 'listeners.tcp.1 = 127.0.0.1:5672\n' >"$work/rabbitmq.conf"
HOME=$work RABBITMQ_NODENAME=wirelap@localhost RABBITMQ_MNESIA_BASE=$work/mnesia RABBITMQ_LOGS=- \
    RABBITMQ_CONFIG_FILE=$work/rabbitmq RABBITMQ_ENABLED_PLUGINS_FILE=$work/plugins RABBITMQ_CONF_ENV_FILE=/dev/null \
    ip netns exec "$ns" /usr/lib/rabbitmq/bin/rabbitmq-server >"$work/rabbitmq.log" 2>&1 &
started="$started $!"
until grep -q "Starting broker... completed" "$work/rabbitmq.log" 2>/dev/null; do :; done
record amqp "tcp port 5672"

printf 'listen: 127.0.0.1:4222\nwebsocket { listen: "127.0.0.1:9222", no_tls: true, compression: true }\n' >"$work/nats.conf"
ip netns exec "$ns" nats-server -c "$work/nats.conf" -l "$work/websocket.log" &
started="$started $!"
until grep -q "Server is ready" "$work/websocket.log" 2>/dev/null; do :; done
record websocket "tcp port 9083 or tcp port 9222"
record ros_zenoh "tcp port 7447"
