#!/usr/bin/env bash
# Kafka 4.4.0 (broker and Java producer): the epoch of a transactional producer
# rises with every transaction, and its sequence numbers start at 0 again.
#
# One would expect: an epoch stands for one life of the producer. It rises when
# the application starts again (initTransactions), to fence off the one before;
# while one producer object lives, (producer id, epoch, sequence) counts on and
# names each batch of a partition once.
#
# Seen: with transaction.version 2, which a new cluster has from the start, each
# commit ends an epoch. Three transactions of two batches by one producer object
# have the epochs 0, 1 and 2, each with the sequences 0 and 1. The commit marker
# itself already carries the epoch of the NEXT transaction. Who finds lost or
# repeated batches by their sequence has to take a fall to 0 for normal, and who
# counts restarts of producers by their epochs counts transactions.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>x</groupId><artifactId>x</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.4.0</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
XML
mvn -q -B -Dmaven.repo.local="$dir/m2" dependency:copy-dependencies -DoutputDirectory="$dir/lib" >mvn.log 2>&1 ||
    { tail -n 3 mvn.log || true; echo "not tried: Kafka 4.4.0 could not be installed"; exit 2; }

cat >Probe.java <<'JAVA'
import java.io.*;
import java.net.*;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Time;

public class Probe {
    public static void main(String[] args) throws Exception {
        Path dir = Path.of(args[0]);
        String broker = startBroker(dir);
        Map<String, Object> config = Map.of("bootstrap.servers", broker, "transactional.id", "writer");
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            for (int transaction = 0; transaction < 3; transaction++) {
                producer.beginTransaction();
                for (int batch = 0; batch < 2; batch++) producer.send(new ProducerRecord<>("t", new byte[1])).get();
                producer.commitTransaction();
            }
        }
        var seen = new ArrayList<String>();
        try (var log = FileRecords.open(dir.resolve("log/t-0/00000000000000000000.log").toFile())) {
            for (var batch : log.batches()) {
                seen.add("%d:%s".formatted(batch.producerEpoch(), batch.isControlBatch() ? "commit" : batch.baseSequence()));
            }
        }
        System.out.println("batches of three transactions, epoch:sequence = " + seen);
        var stated = List.of("0:0", "0:1", "1:commit", "1:0", "1:1", "2:commit", "2:0", "2:1", "3:commit");
        if (!seen.equals(stated)) System.out.println("changed: stated was " + stated);
        Runtime.getRuntime().halt(seen.equals(stated) ? 0 : 10);
    }

    static String startBroker(Path dir) throws Exception {
        int data = freePort(), quorum = freePort();
        Path file = dir.resolve("broker.properties");
        Files.writeString(file, """
            process.roles=broker,controller
            node.id=1
            listeners=PLAINTEXT://127.0.0.1:%1$d,CONTROLLER://127.0.0.1:%2$d
            advertised.listeners=PLAINTEXT://127.0.0.1:%1$d
            listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
            controller.listener.names=CONTROLLER
            controller.quorum.bootstrap.servers=127.0.0.1:%2$d
            log.dirs=%3$s/log
            offsets.topic.replication.factor=1
            transaction.state.log.replication.factor=1
            transaction.state.log.min.isr=1
            transaction.state.log.num.partitions=1
            """.formatted(data, quorum, dir));
        var config = new Properties();
        try (var in = Files.newBufferedReader(file)) { config.load(in); }
        kafka.tools.StorageTool.execute(
            new String[] {"format", "--standalone", "-t", Uuid.randomUuid().toString(), "-c", file.toString()},
            new PrintStream(OutputStream.nullOutputStream()));
        new kafka.server.KafkaRaftServer(new kafka.server.KafkaConfig(config), Time.SYSTEM).startup();
        return "127.0.0.1:" + data;
    }

    static int freePort() throws IOException {
        try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) { return socket.getLocalPort(); }
    }
}
JAVA
result=0
timeout 180 java -Xmx1g -cp "lib/*" Probe.java "$dir" || result=$?
case $result in
    0) ;;
    10) exit 1 ;;
    *) echo "not tried: the broker or the clients did not run"; exit 2 ;;
esac
