import amqp from "amqplib";
import { options, run } from "./peer.mjs";

const { port, topic } = options;
const connection = await amqp.connect(`amqp://guest:guest@127.0.0.1:${port}`);
const channel = await connection.createConfirmChannel();
await channel.assertQueue(topic, { durable: false });
await run({
  publish: (payload) => void channel.sendToQueue(topic, payload),
  flush: () => channel.waitForConfirms(),
  subscribe: (take) =>
    channel.consume(topic, (message) => {
      channel.ack(message);
      take();
    }),
});
