import { createServer } from "node:net";
import { Aedes } from "aedes";
import { WebSocketServer, createWebSocketStream } from "ws";

const broker = await Aedes.createBroker();
const address = { port: Number(process.env.PORT), host: "127.0.0.1" };
// WS=1: by WebSocket.
if (process.env.WS) {
  new WebSocketServer(address).on("connection", (socket, request) => broker.handle(createWebSocketStream(socket), request));
} else {
  createServer(broker.handle).listen(address);
}
