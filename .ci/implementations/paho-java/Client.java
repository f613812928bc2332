import org.eclipse.paho.client.mqttv3.*;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;

public class Client extends Peer {
    final MqttAsyncClient client;
    IMqttDeliveryToken last;

    Client(String role) throws Exception {
        client = new MqttAsyncClient("tcp://" + ADDRESS, "java-" + role + System.getenv("NUMBER"), new MemoryPersistence());
        MqttConnectOptions options = new MqttConnectOptions();
        options.setMaxInflight(1000);
        client.connect(options).waitForCompletion(30_000);
    }

    void publish(byte[] payload) throws Exception {
        last = client.publish(TOPIC, payload, QOS, false);
    }

    void flush() throws Exception {
        last.waitForCompletion(30_000);
    }

    void subscribe() throws Exception {
        client.subscribe(TOPIC, QOS, (topic, message) -> take()).waitForCompletion(30_000);
    }

    public static void main(String[] words) throws Exception {
        run(words[0], new Client(words[0]));
    }
}
