// What clients in JavaScript share; see peer.py. `link` has publish(payload), flush(), subscribe(take).
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const number = (name, other) => Number(process.env[name] ?? other);

export const role = process.argv[2];
export const options = {
  port: number("PORT"), topic: "truth", qos: number("QOS", 0), rate: number("RATE", 200),
  messages: number("MESSAGES", 300), payload: number("PAYLOAD", 64), equal: process.env.EQUAL === "1",
};

export const tell = (line) => process.stdout.write(line + "\n");

const payloadOf = (count) => {
  const head = options.equal ? "" : String(count).padStart(8, "0");
  return Buffer.from((head + ".".repeat(options.payload)).slice(0, options.payload));
};

export async function run(link) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  let received = 0;
  if (role === "sub") {
    await link.subscribe(() => ++received === options.messages && tell("all"));
  }
  tell("ready");
  await lines.next();
  if (role === "pub") {
    const begun = performance.now();
    for (let count = 0; count < options.messages; count++) {
      const wait = begun + (count * 1000) / options.rate - performance.now();
      if (wait > 0) await pause(wait);
      await link.publish(payloadOf(count));
    }
    await link.flush?.();
    tell(`done {"sent": ${options.messages}}`);
    await lines.next();
  } else {
    tell(`done {"received": ${received}}`);
  }
  process.stdout.write("", () => process.exit(0));
}
