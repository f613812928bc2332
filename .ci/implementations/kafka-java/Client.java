import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Client extends Peer {
    KafkaProducer<byte[], byte[]> producer;

    void publish(byte[] payload) {
        producer.send(new ProducerRecord<>(TOPIC, payload));
    }

    void flush() {
        producer.flush();
    }

    void subscribe() throws Exception {
        if (number("SHARE", 0) == 1) {
            share();
            return;
        }
        CountDownLatch assigned = new CountDownLatch(1);
        Thread reader = new Thread(() -> {
            Map<String, Object> settings = Map.of("bootstrap.servers", ADDRESS, "group.id", "truth", "auto.offset.reset", "earliest");
            var consumer = new KafkaConsumer<byte[], byte[]>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(List.of(TOPIC));
            while (true) {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> take());
                if (!consumer.assignment().isEmpty()) assigned.countDown();
            }
        });
        reader.start();
        assigned.await();
    }

    /** Reads as a member of a share group, which begins at the first record. */
    void share() throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", ADDRESS, "group.id", "share");
        try (Admin admin = Admin.create(settings)) {
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "share");
            AlterConfigOp earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(group, List.of(earliest))).all().get();
        }
        Thread reader = new Thread(() -> {
            var consumer = new KafkaShareConsumer<byte[], byte[]>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(List.of(TOPIC));
            while (true) consumer.poll(Duration.ofMillis(100)).forEach(record -> take());
        });
        reader.start();
    }

    public static void main(String[] words) throws Exception {
        Client client = new Client();
        if (words[0].equals("pub")) {
            client.producer = new KafkaProducer<>(Map.of("bootstrap.servers", ADDRESS), new ByteArraySerializer(), new ByteArraySerializer());
            client.producer.partitionsFor(TOPIC);
        }
        run(words[0], client);
    }
}
