import zmq from "zeromq";
import { options, role, run } from "./peer.mjs";

const address = `tcp://127.0.0.1:${options.port}`;
const socket = role === "pub" ? new zmq.XPublisher() : new zmq.Subscriber();
let subscribed;
if (role === "pub") {
  await socket.bind(address);
  subscribed = socket.receive();
} else {
  socket.connect(address);
}
await run({
  publish: async (payload) => {
    await subscribed;
    await socket.send(payload);
  },
  subscribe: (take) => {
    socket.subscribe();
    (async () => {
      for await (const _ of socket) take();
    })();
  },
});
