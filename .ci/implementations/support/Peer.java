import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** What clients in Java share; see peer.py. */
public abstract class Peer {
    static final int PORT = number("PORT", 0), MESSAGES = number("MESSAGES", 300), RATE = number("RATE", 200);
    static final int QOS = number("QOS", 0), PAYLOAD = number("PAYLOAD", 64);
    static final String ADDRESS = "127.0.0.1:" + PORT, TOPIC = "truth";
    static final AtomicInteger received = new AtomicInteger(), different = new AtomicInteger();
    static final Set<String> seen = ConcurrentHashMap.newKeySet();

    abstract void publish(byte[] payload) throws Exception;

    void flush() throws Exception {}

    /** Calls `take` for each message. */
    abstract void subscribe() throws Exception;

    static void take() {
        received.incrementAndGet();
        if (different.incrementAndGet() == MESSAGES) System.out.println("all");
    }

    /** As above, where one message may come twice. */
    static void take(byte[] payload) {
        boolean isNew = "1".equals(System.getenv("EQUAL")) || seen.add(new String(payload, StandardCharsets.US_ASCII));
        if (isNew) take();
        else received.incrementAndGet();
    }

    static int number(String name, int other) {
        String value = System.getenv(name);
        return value == null ? other : Integer.parseInt(value);
    }

    static byte[] payloadOf(int count) {
        String head = "1".equals(System.getenv("EQUAL")) ? "" : String.format("%08d", count);
        return (head + ".".repeat(PAYLOAD)).substring(0, PAYLOAD).getBytes(StandardCharsets.US_ASCII);
    }

    static void run(String role, Peer peer) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        if (role.equals("sub")) peer.subscribe();
        System.out.println("ready");
        lines.readLine();
        if (role.equals("sub")) {
            System.out.println("done {\"received\": " + received.get() + ", \"different\": " + different.get() + "}");
            Runtime.getRuntime().halt(0);
        }
        long begun = System.nanoTime();
        for (int count = 0; count < MESSAGES; count++) {
            long wait = begun + count * 1_000_000_000L / RATE - System.nanoTime();
            if (wait > 0) Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
            peer.publish(payloadOf(count));
        }
        peer.flush();
        System.out.println("done {\"sent\": " + MESSAGES + "}");
        lines.readLine();
        Runtime.getRuntime().halt(0);
    }
}
