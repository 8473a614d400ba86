/** Carries bytes from one socket to another and back, and reads none of them: `node relay.ts UPSTREAM_PORT` tells its port. */
import { connect, createServer, type AddressInfo } from "node:net";

const [, , upstreamPort] = process.argv;
/** As the gateway's connections to upstreams read: each read is done with before the next one. */
const shared = Buffer.allocUnsafeSlow(65_536);

const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({
    port: Number(upstreamPort),
    host: "127.0.0.1",
    noDelay: true,
    onread: {
      buffer: shared,
      callback: (length) => client.write(shared.toString("latin1", 0, length), "latin1"),
    },
  });
  // Short texts are the cheapest that a socket can be given.
  client.on("data", (chunk: Buffer) => upstream.write(chunk.toString("latin1"), "latin1"));
  client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
  upstream.on("error", () => client.destroy()).on("close", () => client.destroy());
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
