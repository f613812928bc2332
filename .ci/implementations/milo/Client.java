import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.eclipse.milo.opcua.sdk.client.OpcUaClient;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaMonitoredItem;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaSubscription;
import org.eclipse.milo.opcua.stack.core.types.builtin.*;
import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;

public class Client extends Peer {
    final OpcUaClient client;
    final NodeId node = new NodeId(2, "truth");

    Client() throws Exception {
        client = OpcUaClient.create("opc.tcp://" + ADDRESS + "/truth");
        client.connect();
    }

    void publish(byte[] payload) throws Exception {
        DataValue value = DataValue.valueOnly(new Variant(ByteString.of(payload)));
        StatusCode status = client.writeValues(List.of(node), List.of(value)).get(0);
        if (!status.isGood()) throw new Exception(status.toString());
    }

    void subscribe() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        OpcUaSubscription subscription = new OpcUaSubscription(client, 10.0);
        subscription.create();
        OpcUaMonitoredItem item = OpcUaMonitoredItem.newDataItem(node);
        item.setSamplingInterval(0.0);
        item.setQueueSize(uint(1000));
        item.setDataValueListener((from, value) -> {
            // The value that the server had before is not one that was written.
            byte[] bytes = ((ByteString) value.value().value()).bytesOrEmpty();
            if (bytes.length > 0) take(bytes);
            else begun.countDown();
        });
        subscription.addMonitoredItem(item);
        subscription.synchronizeMonitoredItems();
        begun.await();
    }

    public static void main(String[] words) throws Exception {
        run(words[0], new Client());
    }
}
