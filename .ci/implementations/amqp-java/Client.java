import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;

public class Client extends Peer {
    final Channel channel;

    Client() throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(PORT);
        channel = factory.newConnection().createChannel();
        channel.queueDeclare(TOPIC, false, false, false, null);
        channel.confirmSelect();
    }

    void publish(byte[] payload) throws Exception {
        channel.basicPublish("", TOPIC, null, payload);
    }

    void flush() throws Exception {
        channel.waitForConfirmsOrDie(30_000);
    }

    void subscribe() throws Exception {
        channel.basicConsume(TOPIC, false, (tag, delivery) -> {
            channel.basicAck(delivery.getEnvelope().getDeliveryTag(), false);
            take();
        }, tag -> {});
    }

    public static void main(String[] words) throws Exception {
        run(words[0], new Client());
    }
}
