import { Connection } from "rabbitmq-client";
import { options, role, run } from "./peer.mjs";

const { port, topic: queue } = options;
const connection = new Connection(`amqp://guest:guest@127.0.0.1:${port}`);
await connection.queueDeclare({ queue });
const publisher = role === "pub" ? connection.createPublisher({ confirm: true }) : undefined;
const sent = [];
await run({
  publish: (payload) => void sent.push(publisher.send(queue, payload)),
  flush: () => Promise.all(sent),
  subscribe: (take) => {
    const consumer = connection.createConsumer({ queue }, async () => void take());
    return new Promise((done) => consumer.on("ready", done));
  },
});
