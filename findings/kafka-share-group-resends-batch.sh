#!/usr/bin/env bash
# Kafka 4.4.0 (broker and Java client): a share group whose consumer asks for few
# records at a time (share.acquire.mode=record_limit) is sent the same batch again
# and again, whole; 0.5 MB of records cost 50 MB on the wire.
#
# One would expect: the broker hands ten records to the consumer, so about ten
# records are sent. A fetch of a consumer group may bring more than one poll
# returns, but the client keeps the rest and nothing is sent twice.
#
# Seen: the broker never takes a batch apart. Each fetch is answered with the
# whole batch of 1,000 records and the range of ten offsets that was acquired;
# the client throws the other 990 away and gets them anew with the next fetch.
# The client's own meters differ by a hundred: incoming bytes beside bytes
# consumed. Records seen on the wire are not deliveries here.
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
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Time;

public class Probe {
    static final int RECORDS = 1000, BYTES = 500, AT_A_TIME = 10;

    public static void main(String[] args) throws Exception {
        String broker = startBroker(Path.of(args[0]));
        produceOneBatch(broker);
        try (var admin = Admin.create(Map.of("bootstrap.servers", broker))) {
            var earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "g"), List.of(earliest))).all().get();
        }
        Map<String, Object> config = Map.of("bootstrap.servers", broker, "group.id", "g",
            "max.poll.records", AT_A_TIME, "share.acquire.mode", "record_limit");
        try (var consumer = new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of("t"));
            int got = 0, polls = 0;
            long giveUp = System.nanoTime() + 60_000_000_000L;
            while (got < RECORDS && System.nanoTime() < giveUp) {
                int count = consumer.poll(Duration.ofSeconds(5)).count();
                got += count;
                polls += count > 0 ? 1 : 0;
            }
            double received = consumer.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals("incoming-byte-total"))
                .filter(metric -> metric.metricName().group().equals("consumer-metrics"))
                .mapToDouble(metric -> (double) metric.metricValue()).sum();
            int produced = RECORDS * BYTES;
            System.out.printf("%d records of %d bytes in %d polls: %.1f MB produced, %.1f MB received%n",
                got, BYTES, polls, produced / 1e6, received / 1e6);
            boolean asStated = got == RECORDS && received > 50.0 * produced;
            System.out.println(asStated ? "as stated: received about a hundred times"
                : "changed: received " + Math.round(received / produced) + " times, " + got + " records");
            Runtime.getRuntime().halt(asStated ? 0 : 10);
        }
    }

    static void produceOneBatch(String broker) {
        Map<String, Object> config = Map.of("bootstrap.servers", broker, "linger.ms", 60_000, "batch.size", 2 * RECORDS * BYTES);
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < RECORDS; i++) producer.send(new ProducerRecord<>("t", new byte[BYTES]));
            producer.flush();
        }
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
            share.coordinator.state.topic.replication.factor=1
            share.coordinator.state.topic.min.isr=1
            share.coordinator.state.topic.num.partitions=1
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
