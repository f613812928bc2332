#!/usr/bin/env bash
# Kafka 4.4.0 (broker and Java client): a topic with one replica and min.insync.replicas=2 takes
# every record with acks=all; nothing says that the setting has no effect.
#
# One would expect: min.insync.replicas is the number of copies without which a record with
# acks=all is refused (NOT_ENOUGH_REPLICAS), so a topic that can never have two copies refuses
# all of them. It is set as a guard against topics with too few replicas.
#
# Seen: the setting counts as the number of replicas where that is smaller, so the guard
# is none exactly there: all records are confirmed, and the admin client shows 2 as the
# value in effect.
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
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Time;

public class Probe {
    static final int RECORDS = 20;

    public static void main(String[] args) throws Exception {
        String broker = startBroker(Path.of(args[0]));
        String shown;
        try (var admin = Admin.create(Map.of("bootstrap.servers", broker))) {
            var topic = new NewTopic("t", 1, (short) 1).configs(Map.of("min.insync.replicas", "2"));
            admin.createTopics(List.of(topic)).all().get();
            var of = new ConfigResource(ConfigResource.Type.TOPIC, "t");
            shown = admin.describeConfigs(List.of(of)).all().get().get(of).get("min.insync.replicas").value();
        }
        int confirmed = 0;
        String refused = "none";
        Map<String, Object> config = Map.of("bootstrap.servers", broker, "acks", "all", "retries", 0,
            "enable.idempotence", false, "delivery.timeout.ms", 20_000, "request.timeout.ms", 10_000);
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < RECORDS; i++) {
                try {
                    producer.send(new ProducerRecord<>("t", new byte[10])).get();
                    confirmed++;
                } catch (ExecutionException error) {
                    refused = error.getCause().getClass().getSimpleName();
                }
            }
        }
        System.out.printf("min.insync.replicas shown: %s, replicas: 1; confirmed %d of %d, refused: %s%n",
            shown, confirmed, RECORDS, refused);
        boolean asStated = confirmed == RECORDS && shown.equals("2");
        System.out.println(asStated ? "as stated: the guard is none" : "changed");
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
            offsets.topic.replication.factor=1
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
