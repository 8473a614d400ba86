/**
 * The suite cannot send credentials to a server. This forwarder stands before the gateway and adds them: it copies the
 * raw headers, adds the bearer token, and streams both ways. A Host that names the forwarder becomes the gateway's; any
 * other Host (the suite tries foreign ones) goes through as it is.
 *
 * The suite calls tools and prompts by fixed names, which have a prefix at a federated route: the forwarder adds it in
 * requests, and removes it from the names in responses.
 */
import { createServer, request } from "node:http";
import { text } from "node:stream/consumers";

import { ignore } from "../../runtime/shared/ignore.ts";
import type { AddressInfo } from "node:net";

export interface Forwarder {
  readonly origin: string;
  close(): Promise<void>;
}

/** @param prefix "fixture__": that of a member */
export async function startForwarder(gatewayOrigin: string, token: string, prefix = ""): Promise<Forwarder> {
  const gateway = new URL(gatewayOrigin);
  const server = createServer((req, res) => {
    const headers: string[] = [];
    const method = String(req.headers["mcp-method"]);
    for (let i = 0; i < req.rawHeaders.length; i += 2) {
      const name = req.rawHeaders[i] ?? "";
      const value = req.rawHeaders[i + 1] ?? "";
      const isOwnHost = name.toLowerCase() === "host" && value === `127.0.0.1:${port()}`;
      const isName = prefix !== "" && name.toLowerCase() === "mcp-name" && NAMED.has(method);
      // The body may get longer.
      if (prefix !== "" && name.toLowerCase() === "content-length") headers.push("transfer-encoding", "chunked");
      else headers.push(name, isOwnHost ? gateway.host : isName ? prefix + value : value);
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
      const own = prefix === "" ? answer.rawHeaders : withoutLength(answer.rawHeaders);
      res.writeHead(answer.statusCode ?? 502, answer.statusMessage, own);
      res.flushHeaders();
      if (prefix === "") answer.pipe(res);
      else {
        // The gateway writes each message at once.
        answer.on(
          "data",
          (chunk: Buffer) => void res.write(chunk.toString("utf8").replaceAll(`"name":"${prefix}`, '"name":"')),
        );
        answer.on("end", () => res.end());
      }
      answer.on("error", () => res.destroy());
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    if (prefix === "") req.pipe(onward);
    else void text(req).then((body) => onward.end(withPrefix(body, prefix)), ignore);
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

const NAMED: ReadonlySet<string> = new Set(["tools/call", "prompts/get"]);

function withPrefix(body: string, prefix: string): string {
  try {
    const message = JSON.parse(body) as { method: string; params?: { name?: string; ref?: { name?: string } } };
    const named = NAMED.has(message.method) ? message.params : message.params?.ref;
    if (typeof named?.name !== "string") return body;
    named.name = prefix + named.name;
    return JSON.stringify(message);
  } catch {
    return body;
  }
}

function withoutLength(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => rawHeaders[at - (at % 2)]?.toLowerCase() !== "content-length");
}
