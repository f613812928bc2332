import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import java.util.concurrent.CompletableFuture;

public class Client extends Peer {
    final Mqtt5AsyncClient client;
    CompletableFuture<?> last;

    Client() {
        client = MqttClient.builder().useMqttVersion5().serverHost("127.0.0.1").serverPort(PORT).buildAsync();
        client.connect().join();
    }

    void publish(byte[] payload) {
        last = client.publishWith().topic(TOPIC).qos(MqttQos.fromCode(QOS)).payload(payload).send();
    }

    void flush() {
        last.join();
    }

    void subscribe() {
        client.subscribeWith().topicFilter(TOPIC).qos(MqttQos.fromCode(QOS)).callback(message -> take()).send().join();
    }

    public static void main(String[] words) throws Exception {
        run(words[0], new Client());
    }
}
