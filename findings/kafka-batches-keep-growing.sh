#!/usr/bin/env bash
# Kafka 4.4.0 (Java producer): at the same load its batches go on growing for
# hundreds of batches, here from some 140 records to more than 1,400.
#
# One would expect: batch.size limits a batch in bytes, so equal records make
# equal batches from the second one on, a compressed batch is filled until its
# compressed bytes come near batch.size.
#
# Seen: how much still fits is guessed from a compression ratio that the producer
# learns per topic. It begins at 1 (incompressible) and falls by at most 0.005
# with each batch that was sent. Records of 100 equal bytes compress a
# hundredfold; all the same the first batches hold 16 KiB of them (0.8 KiB on the
# wire), and a tenfold batch comes only after several hundred. Latency, records
# per request and bytes per record of a quiet topic therefore drift for long
# after the start, with no change of load; a short benchmark measures the start.
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
        // The long linger keeps batches from being sent before they are full.
        Map<String, Object> config = Map.of("bootstrap.servers", broker, "compression.type", "lz4",
            "linger.ms", 60_000, "batch.size", 16_384);
        byte[] value = new byte[100];
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < 400_000; i++) producer.send(new ProducerRecord<>("t", value));
            producer.flush();
        }
        var records = new ArrayList<Integer>();
        try (var log = FileRecords.open(dir.resolve("log/t-0/00000000000000000000.log").toFile())) {
            for (var batch : log.batches()) records.add(batch.countOrNull());
        }
        var sample = new ArrayList<String>();
        for (int i = 0; i < records.size(); i += 100) sample.add("#" + i + ": " + records.get(i));
        System.out.println("records in a batch of 400,000 equal records: " + sample);
        int first = records.get(0), hundredth = records.get(100), largest = Collections.max(records);
        boolean asStated = first < 200 && hundredth < 2 * first && largest > 10 * first;
        System.out.printf("%s: first %d, after 100 batches %d, largest %d%n",
            asStated ? "as stated" : "changed", first, hundredth, largest);
        Runtime.getRuntime().halt(asStated ? 0 : 10);
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
