import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

public class Client extends Peer {
    final ZMQ.Socket socket;
    boolean isSubscribed;

    Client(String role) {
        boolean publishes = role.equals("pub");
        socket = new ZContext().createSocket(publishes ? SocketType.XPUB : SocketType.SUB);
        if (publishes) socket.bind("tcp://" + ADDRESS);
        else socket.connect("tcp://" + ADDRESS);
    }

    void publish(byte[] payload) {
        // A subscription comes as a message.
        if (!isSubscribed) isSubscribed = socket.recv() != null;
        socket.send(payload);
    }

    void subscribe() {
        socket.subscribe(new byte[0]);
        Thread reader = new Thread(() -> {
            while (socket.recv() != null) take();
        });
        reader.setDaemon(true);
        reader.start();
    }

    public static void main(String[] words) throws Exception {
        run(words[0], new Client(words[0]));
    }
}
