import { createRequire } from "node:module";

const { DataType, MessageSecurityMode, OPCUAServer, SecurityPolicy, Variant } = createRequire(import.meta.url)("node-opcua");
const server = new OPCUAServer({
  port: Number(process.env.PORT), hostname: "127.0.0.1", resourcePath: "/truth", allowAnonymous: true,
  securityModes: [MessageSecurityMode.None], securityPolicies: [SecurityPolicy.None],
});
await server.initialize();
const space = server.engine.addressSpace;
// The namespace of the variable is the third: number 2.
const namespace = space.registerNamespace("truth");
const name = `ns=${namespace.index};s=truth`;
const value = { dataType: DataType.ByteString, value: Buffer.alloc(0) };
namespace.addVariable({
  organizedBy: space.rootFolder.objects, browseName: "truth", nodeId: name, dataType: "ByteString",
  minimumSamplingInterval: 0, value: new Variant(value),
});
await server.start();
process.stdout.write(`ready ${name}\n`);
