import io.nats.client.Connection;
import io.nats.client.Nats;
import java.time.Duration;

public class Client extends Peer {
    final Connection client;

    Client() throws Exception {
        client = Nats.connect("nats://" + ADDRESS);
    }

    void publish(byte[] payload) {
        client.publish(TOPIC, payload);
    }

    void flush() throws Exception {
        client.flush(Duration.ofSeconds(30));
    }

    void subscribe() throws Exception {
        client.createDispatcher(message -> take()).subscribe(TOPIC);
        flush();
    }

    public static void main(String[] words) throws Exception {
        run(words[0], new Client());
    }
}
