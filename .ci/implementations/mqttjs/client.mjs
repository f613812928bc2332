import mqtt from "mqtt";
import { options, run } from "./peer.mjs";

const { port, topic, qos } = options;
const client = await mqtt.connectAsync(`${process.env.WS ? "ws" : "mqtt"}://127.0.0.1:${port}`);
await run({
  // The acknowledgement of one is not waited for before the next.
  publish: (payload) => void (client.last = client.publishAsync(topic, payload, { qos })),
  flush: () => client.last,
  subscribe: (take) => client.on("message", take).subscribeAsync(topic, { qos }),
});
