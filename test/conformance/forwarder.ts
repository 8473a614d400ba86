/**
 * The suite cannot send credentials to a server. This forwarder stands before the gateway and adds them: it copies the
 * raw headers, adds the bearer token, and streams both ways. A Host that names the forwarder becomes the gateway's; any
 * other Host (the suite tries foreign ones) goes through as it is.
 */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Forwarder {
  readonly origin: string;
  close(): Promise<void>;
}

export async function startForwarder(gatewayOrigin: string, token: string): Promise<Forwarder> {
  const gateway = new URL(gatewayOrigin);
  const server = createServer((req, res) => {
    const headers: string[] = [];
    for (let i = 0; i < req.rawHeaders.length; i += 2) {
      const name = req.rawHeaders[i] ?? "";
      const value = req.rawHeaders[i + 1] ?? "";
      headers.push(name, name.toLowerCase() === "host" && value === `127.0.0.1:${port()}` ? gateway.host : value);
    }
    headers.push("authorization", `Bearer ${token}`);
    const onward = request({
      host: gateway.hostname,
      port: gateway.port,
      method: req.method,
      path: req.url,
      headers,
      setHost: false,
    });
    onward.on("response", (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
      res.flushHeaders();
      answer.pipe(res);
      answer.on("error", () => res.destroy());
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    req.pipe(onward);
  });
  const port = () => (server.address() as AddressInfo).port;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${port()}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
