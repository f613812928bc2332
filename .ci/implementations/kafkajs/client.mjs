import { Kafka, logLevel } from "kafkajs";
import { options, role, run } from "./peer.mjs";

const { port, topic } = options;
const kafka = new Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: logLevel.ERROR });
const client = role === "pub" ? kafka.producer() : kafka.consumer({ groupId: "truth" });
await client.connect();
const sent = [];
await run({
  publish: (payload) => void sent.push(client.send({ topic, messages: [{ value: payload }] })),
  flush: () => Promise.all(sent),
  subscribe: async (take) => {
    await client.subscribe({ topic, fromBeginning: true });
    const joined = new Promise((done) => client.on(client.events.GROUP_JOIN, done));
    await client.run({ eachMessage: async () => void take() });
    await joined;
  },
});
