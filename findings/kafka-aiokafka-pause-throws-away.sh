#!/usr/bin/env bash
# aiokafka 0.14.0 (Kafka client for Python): a consumer that pauses a partition after each ten of a
# thousand records gets them all fetched again each time, 50 MB for 0.5 MB.
#
# One would expect: pause() stops the fetching and keeps what was fetched for later; its
# description says that getmany() returns no records of the partition until resume(). Kafka's
# own consumer keeps them since 2.4 (KAFKA-7548).
#
# Seen: a call of getmany() or getone() that meets fetched records of a paused partition throws
# them away, and after resume() all that was not yet read is fetched anew, a whole batch at
# least. The application sees each record once. Who pauses for a slow database loads
# the network with it, and a record on the wire is not a delivery here: the last of these
# thousand comes a hundred times.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOPATH="$dir/go" GOCACHE="$dir/cache" GOFLAGS=-modcacherw

cat >main.go <<'GO'
// A Kafka broker in memory. It prints its address, and for each line of its input the bytes it has sent.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kfake"
)

var sent atomic.Int64

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return counted{conn}, err
}

type counted struct{ net.Conn }

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	sent.Add(int64(n))
	return n, err
}

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"),
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			return listener{l}, err
		}))
	if err != nil {
		panic(err)
	}
	fmt.Println(cluster.ListenAddrs()[0])
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(sent.Load())
	}
}
GO
cat >probe.py <<'PY'
import asyncio
import subprocess
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

RECORDS, BYTES, AT_A_TIME = 1000, 500, 10
PARTITION = TopicPartition("t", 0)


async def produce_one_batch(address):
    producer = AIOKafkaProducer(bootstrap_servers=address, max_batch_size=2 * RECORDS * BYTES)
    await producer.start()
    batch = producer.create_batch()
    for number in range(RECORDS):
        batch.append(key=None, value=number.to_bytes(BYTES, "big"), timestamp=None)
    await (await producer.send_batch(batch, "t", partition=0))
    await producer.stop()


async def consume(address, pauses):
    """Reads the batch from its beginning and returns the numbers of its records."""
    consumer = AIOKafkaConsumer(bootstrap_servers=address, group_id=None, auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([PARTITION])
    numbers = []
    while len(numbers) < RECORDS:
        batches = await consumer.getmany(PARTITION, timeout_ms=5000, max_records=AT_A_TIME)
        numbers += [int.from_bytes(record.value, "big") for batch in batches.values() for record in batch]
        if pauses:
            consumer.pause(PARTITION)
            await consumer.getmany(PARTITION)  # Nothing is returned.
            consumer.resume(PARTITION)
    await consumer.stop()
    return numbers


async def main(broker):
    address = broker.stdout.readline().strip()
    await produce_one_batch(address)
    received = {}
    for pauses in False, True:
        before = sent(broker)
        numbers = await asyncio.wait_for(consume(address, pauses), 60)
        received[pauses] = sent(broker) - before
        name = "a pause after each ten" if pauses else "no pauses"
        print(f"{name}: {len(numbers)} records of {BYTES} bytes, {received[pauses] / 1e6:.1f} MB sent by the broker")
        if numbers != list(range(RECORDS)):
            print("changed: a record is missing or comes twice")
            return 1
    if received[False] > 2 * RECORDS * BYTES or received[True] < 50 * RECORDS * BYTES:
        print("changed: stated was once without pauses and a hundred times with them")
        return 1
    return 0


def sent(broker):
    broker.stdin.write("\n")
    broker.stdin.flush()
    return int(broker.stdout.readline())


with subprocess.Popen(["./broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
    try:
        result = asyncio.run(main(broker))
    except Exception as error:  # aiokafka's own and asyncio's.
        print("not tried:", repr(error))
        result = 2
sys.exit(result)
PY
python3 -m venv "$dir/venv" >log 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: aiokafka==0.14.0 >log 2>&1 &&
    go mod init broker >log 2>&1 &&
    go get github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c github.com/twmb/franz-go@v1.22.3 >>log 2>&1 &&
    go mod tidy >>log 2>&1 && go build -o broker . >>log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: aiokafka 0.14.0 or its broker could not be installed"; exit 2; }
timeout 150 "$dir/venv/bin/python" probe.py || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
