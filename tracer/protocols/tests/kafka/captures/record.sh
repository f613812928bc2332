#!/bin/sh
# Records the captures in this folder: Apache Kafka, its own tools, kcat and confluent-kafka over the
# loopback of a network namespace of its own.
#   record.sh LIB PYTHON     a folder with Kafka's jars (org.apache.kafka:kafka_2.13 and kafka-tools),
#                            and a Python with confluent-kafka
# Needs root, Java 17, kcat, tcpdump and tshark. The expectations beside the captures are what Kafka's
# own classes read in them (Expect.java), and tshark (expect.py) where it knows the versions.
set -eu
lib=$1 python=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
ns=kafka-record-$$
ip netns add "$ns"
broker=
trap 'exit 1' INT TERM
trap 'test -z "$broker" || kill "$broker"; ip netns del "$ns"; rm -r "$work"' EXIT
ip -n "$ns" link set lo up

inside() { ip netns exec "$ns" "$@"; }
kafka() { inside java -Xmx512m -cp "$lib/*" "$@" 2>>"$work/log"; }

cat >"$work/server.properties" <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
log.dirs=$work/data
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
EOF
kafka kafka.tools.StorageTool format -t "$(kafka kafka.tools.StorageTool random-uuid)" -c "$work/server.properties"
ip netns exec "$ns" java -Xmx512m -cp "$lib/*" kafka.Kafka "$work/server.properties" >"$work/server" 2>&1 &
broker=$!
until inside kcat -b 127.0.0.1:9092 -L >"$work/list" 2>&1; do :; done

record() { # NAME COMMAND…
    name=$1
    shift
    : >"$work/dump"
    ip netns exec "$ns" tcpdump -i lo -s 0 -U --immediate-mode -B 65536 -w "$work/$name.pcap" tcp port 9092 2>"$work/dump" &
    dump=$!
    until grep -q listening "$work/dump"; do :; done
    "$@" >"$work/$name.out"
    # All of it is in the file when what came after it is.
    inside kcat -b 127.0.0.1:9092 -L -X client.id=the-end >/dev/null
    until grep -q the-end "$work/$name.pcap"; do :; done
    kill "$dump"
    wait "$dump" || true
    grep -q "^0 packets dropped" "$work/dump"
    cp "$work/$name.pcap" "$here/$name.pcap"
    java -cp "$lib/*" "$here/Expect.java" "$here/$name.pcap" 9092 >"$here/$name.tsv" 2>>"$work/log"
}

kcat_both_ways() {
    seq 1 20 | sed 's/^/message number /' | inside kcat -P -b 127.0.0.1:9092 -t kcat -p 0
    seq 21 30 | sed 's/^/key:message number /' | inside kcat -P -b 127.0.0.1:9092 -t kcat -p 0 -K: -H a=b
    inside kcat -C -b 127.0.0.1:9092 -t kcat -o beginning -c 30 -q
}

perf_tools() {
    kafka org.apache.kafka.tools.TopicCommand --bootstrap-server 127.0.0.1:9092 --create --topic perf --partitions 2
    kafka org.apache.kafka.tools.ProducerPerformance --topic perf --num-records 60 --record-size 20 \
        --throughput 300 --producer-props bootstrap.servers=127.0.0.1:9092 linger.ms=20
    kafka org.apache.kafka.tools.ConsumerPerformance --bootstrap-server 127.0.0.1:9092 --topic perf --num-records 60
}

record kcat kcat_both_ways
tshark -r "$here/kcat.pcap" -T pdml 2>/dev/null | python3 "$here/expect.py" >"$here/kcat-tshark.tsv"
record perf perf_tools
record python inside "$python" "$here/clients.py"
