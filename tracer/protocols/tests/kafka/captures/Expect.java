// Kafka's own classes read a capture: java -cp 'LIB/*' Expect.java CAPTURE.pcap PORT -> one line a PDU
// and one a record.
//
//   pdu     client port, > or <, name, version, bytes
//   record  client port, > or <, topic-partition, bytes of the value (-1: null)
//
// "compressed" stands before the records of a compressed batch, with their number; "control" for those of a control
// batch. Left out is what a consumer throws away: records of transactions that the response says were aborted, and
// records before the offset that was asked for.

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.requests.*;

public class Expect {
    /** One direction of a connection. */
    static class Flow {
        byte[] bytes = new byte[0];
        Long next;

        /** Takes a segment; all arrive in order, some twice. */
        void segment(long sequence, byte[] payload) {
            if (next == null) next = sequence;
            int old = (int) (next - sequence);
            if (old < 0) throw new IllegalStateException("a segment is missing");
            if (old >= payload.length) return;
            int from = bytes.length;
            bytes = Arrays.copyOf(bytes, from + payload.length - old);
            System.arraycopy(payload, old, bytes, from, payload.length - old);
            next = sequence + payload.length;
        }

        /** The next PDU without its size, if all of it is there. */
        byte[] pdu() {
            if (bytes.length < 4) return null;
            int size = ByteBuffer.wrap(bytes).getInt();
            if (bytes.length < 4 + size) return null;
            byte[] pdu = Arrays.copyOfRange(bytes, 4, 4 + size);
            bytes = Arrays.copyOfRange(bytes, 4 + size, bytes.length);
            return pdu;
        }
    }

    static final Map<Integer, Flow[]> connections = new HashMap<>();
    static final Map<List<Integer>, RequestHeader> asked = new HashMap<>();
    static final Map<Uuid, String> topics = new HashMap<>();
    /** The offset that a client asked for last, by topic and partition. */
    static final Map<List<Object>, Long> wanted = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        int server = Integer.parseInt(arguments[1]);
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(Path.of(arguments[0])));
        file.order(ByteOrder.LITTLE_ENDIAN).position(24);
        while (file.remaining() >= 16) {
            file.getLong();
            byte[] frame = new byte[file.getInt()];
            file.getInt();
            if (frame.length > file.remaining()) break;
            file.get(frame);
            packet(ByteBuffer.wrap(frame), server);
        }
    }

    static void packet(ByteBuffer frame, int server) {
        int ip = 14, tcp = ip + (frame.get(ip) & 15) * 4;
        int payload = tcp + ((frame.get(tcp + 12) >> 4) & 15) * 4;
        byte[] bytes = new byte[ip + (frame.getShort(ip + 2) & 0xffff) - payload];
        frame.position(payload).get(bytes);
        int from = frame.getShort(tcp) & 0xffff, to = frame.getShort(tcp + 2) & 0xffff;
        long sequence = frame.getInt(tcp + 4) & 0xffffffffL;
        if (bytes.length == 0) return;
        boolean request = to == server;
        int client = request ? from : to;
        Flow[] flows = connections.computeIfAbsent(client, c -> new Flow[] {new Flow(), new Flow()});
        Flow flow = flows[request ? 0 : 1];
        flow.segment(sequence, bytes);
        for (byte[] pdu = flow.pdu(); pdu != null; pdu = flow.pdu()) {
            if (request) request(client, pdu); else response(client, pdu);
        }
    }

    static void request(int client, byte[] pdu) {
        ByteBuffer buffer = ByteBuffer.wrap(pdu);
        RequestHeader header = RequestHeader.parse(buffer);
        asked.put(List.of(client, header.correlationId()), header);
        line("pdu", client, ">", header.apiKey().messageType.name + "Request", header.apiVersion(), pdu.length + 4);
        AbstractRequest body =
            AbstractRequest.parseRequest(header.apiKey(), header.apiVersion(), new ByteBufferAccessor(buffer)).request;
        if (body instanceof ProduceRequest produce)
            for (var topic : produce.data().topicData())
                for (var partition : topic.partitionData())
                    records(client, ">", topic.name(), topic.topicId(), partition.index(), partition.records(), List.of(), 0);
        if (body instanceof FetchRequest fetch)
            for (var topic : fetch.data().topics())
                for (var partition : topic.partitions())
                    wanted.put(List.of(client, topic.topic(), topic.topicId(), partition.partition()), partition.fetchOffset());
    }

    static void response(int client, byte[] pdu) {
        ByteBuffer buffer = ByteBuffer.wrap(pdu);
        RequestHeader header = asked.remove(List.of(client, buffer.getInt(0)));
        line("pdu", client, "<", header.apiKey().messageType.name + "Response", header.apiVersion(), pdu.length + 4);
        AbstractResponse body = AbstractResponse.parseResponse(buffer, header);
        if (body instanceof MetadataResponse metadata)
            for (var topic : metadata.data().topics()) topics.put(topic.topicId(), topic.name());
        if (body instanceof FetchResponse fetch)
            for (var topic : fetch.data().responses())
                for (var partition : topic.partitions()) {
                    int index = partition.partitionIndex();
                    var aborted = partition.abortedTransactions();
                    long from = wanted.getOrDefault(List.of(client, topic.topic(), topic.topicId(), index), 0L);
                    records(client, "<", topic.topic(), topic.topicId(), index, partition.records(),
                        aborted == null ? List.of() : aborted, from);
                }
    }

    static void records(int client, String way, String name, Uuid id, int partition, BaseRecords records,
            List<FetchResponseData.AbortedTransaction> aborted, long from) {
        if (records == null) return;
        String topic = (name.isEmpty() ? topics.get(id) : name) + "-" + partition;
        for (RecordBatch batch : ((Records) records).batches()) {
            int count = batch.countOrNull();
            if (batch.isControlBatch()) {
                line("control", client, way, topic, count);
                continue;
            }
            if (batch.isCompressed()) line("compressed", client, way, topic, count);
            boolean gone = batch.isTransactional() && aborted.stream().anyMatch(
                a -> a.producerId() == batch.producerId() && a.firstOffset() <= batch.baseOffset());
            for (var record : batch)
                if (!gone && record.offset() >= from) line("record", client, way, topic, record.valueSize());
        }
    }

    static void line(Object... words) {
        System.out.println(String.join("\t", Arrays.stream(words).map(Object::toString).toList()));
    }
}
