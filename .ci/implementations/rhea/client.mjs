import rhea from "rhea";
import { options, role, run } from "./peer.mjs";

const { port, topic } = options;
const container = rhea.create_container();
const once = (event) => new Promise((done) => container.once(event, done));
const connection = container.connect({ host: "127.0.0.1", port, username: "guest", password: "guest", reconnect: false });
await once("connection_open");
let open = 0;
let empty = () => {};
container.on("accepted", () => --open === 0 && empty());
let sender;
if (role === "pub") {
  sender = connection.open_sender(topic);
  await once("sendable");
}
await run({
  publish: (payload) => {
    open++;
    sender.send({ body: rhea.message.data_section(payload) });
  },
  flush: () => (open === 0 ? undefined : new Promise((done) => (empty = done))),
  subscribe: (take) => {
    container.on("message", take);
    connection.open_receiver(topic);
    return once("receiver_open");
  },
});
