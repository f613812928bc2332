import { connect } from "@nats-io/transport-node";
import { options, run } from "./peer.mjs";

const { port, topic } = options;
const client = await connect({ servers: `127.0.0.1:${port}` });
await run({
  publish: (payload) => client.publish(topic, payload),
  flush: () => client.flush(),
  subscribe: (take) => {
    client.subscribe(topic, { callback: () => take() });
    return client.flush();
  },
});
