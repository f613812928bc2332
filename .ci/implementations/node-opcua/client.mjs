import { createRequire } from "node:module";
import { options, run } from "./peer.mjs";

const { AttributeIds, DataType, OPCUAClient, TimestampsToReturn } = createRequire(import.meta.url)("node-opcua");
const nodeId = "ns=2;s=truth";
const client = OPCUAClient.create({ endpointMustExist: false });
await client.connect(`opc.tcp://127.0.0.1:${options.port}/truth`);
const session = await client.createSession();
await run({
  publish: async (payload) => {
    const value = { value: { dataType: DataType.ByteString, value: payload } };
    const status = await session.write({ nodeId, attributeId: AttributeIds.Value, value });
    if (!status.isGood()) throw new Error(status.toString());
  },
  subscribe: async (take) => {
    const subscription = await session.createSubscription2({ requestedPublishingInterval: 10, publishingEnabled: true });
    const settings = { samplingInterval: 0, queueSize: 1000, discardOldest: false };
    const item = await subscription.monitor({ nodeId, attributeId: AttributeIds.Value }, settings, TimestampsToReturn.Both);
    await new Promise((done) => {
      // The value that the server had before is not one that was written.
      item.on("changed", (change) => (change.value.value?.length ? take() : done()));
    });
  },
});
