import { once } from "node:events";
import { connect } from "node:http2";
import { createServer, type AddressInfo } from "node:net";

import { expect, test } from "vitest";

import { Parties } from "../../../runtime/http/admission/parties.ts";
import { createHttp2Sessions } from "../../../runtime/http/listener/server-h2.ts";
import { silentLog } from "../../../runtime/shared/log.ts";

test("an error in a stream resets it: half of a response does not look complete", async () => {
  const sessions = createHttp2Sessions({
    log: silentLog(),
    secure: false,
    asksForCertificates: false,
    parties: new Parties(1_000_000),
    onNoRoom: () => {},
    maxHeaderBytes: 16_384,
    idleTimeoutMs: 60_000,
    handle(exchange) {
      exchange.start(200, []);
      exchange.write("half");
      throw new Error("a mistake");
    },
  });
  const server = createServer((socket) => sessions.serve(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const stream = client.request({ ":path": "/" });
  stream.on("error", () => {});
  stream.resume();
  await new Promise((resolve) => stream.once("close", resolve));
  expect(stream.rstCode).toBe(2);
  client.destroy();
  sessions.destroy();
  sessions.close();
  server.close();
});
