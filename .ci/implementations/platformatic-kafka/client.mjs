import { Consumer, Producer } from "@platformatic/kafka";
import { options, role, run } from "./peer.mjs";

const { port, topic } = options;
const common = { clientId: role, bootstrapBrokers: [`127.0.0.1:${port}`] };
const producer = role === "pub" ? new Producer(common) : undefined;
const sent = [];
await producer?.metadata({ topics: [topic] });
await run({
  publish: (value) => void sent.push(producer.send({ messages: [{ topic, value }] })),
  flush: () => Promise.all(sent),
  subscribe: async (take) => {
    const consumer = new Consumer({ ...common, groupId: "truth" });
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: true });
    stream.on("data", () => take());
  },
});
