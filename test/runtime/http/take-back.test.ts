/** A mistake before the head of an answer has left is answered 500; after it, the answer breaks off. */
import { afterEach, expect, test } from "vitest";

import type { Exchange } from "../../../runtime/http/exchange.ts";
import { createHttpServer, type HttpServer } from "../../../runtime/http/listener/server.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { sendRaw } from "../../support/raw-client.ts";

let server: HttpServer | undefined;
afterEach(() => server?.close({ timeoutMs: 0 }));

async function answerOf(handle: (exchange: Exchange) => void) {
  server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log: silentLog(),
    handle,
  });
  return sendRaw(server.port, "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
}

test("with the head before it leaves", async () => {
  const answer = await answerOf((exchange) => {
    exchange.start(206, ["content-type", "text/plain", "x-of-upstream", "1"]);
    expect([exchange.started, exchange.status]).toEqual([true, 206]);
    exchange.broke(new Error("no"));
    // The rest of the undone response is ignored.
    expect([exchange.status, exchange.takeBack()]).toEqual([500, false]);
    expect(exchange.write("late")).toBe(true);
    exchange.end("late");
  });
  expect(answer).toMatchObject({ status: 500, body: expect.stringContaining("internal") });
  expect(JSON.stringify(answer)).not.toMatch(/x-of-upstream|late/);
});

test("with only the head on its way, or with a piece of the body", async () => {
  const alone = await answerOf((exchange) => {
    exchange.start(200, ["content-length", "4"]);
    setImmediate(() => exchange.broke(new Error("no")));
  });
  expect([alone.status, alone.body]).toEqual([200, ""]);
  await server?.close({ timeoutMs: 0 });
  const piece = await answerOf((exchange) => {
    exchange.start(200, ["content-length", "4"]);
    exchange.write("ab");
    exchange.broke(new Error("no"));
  });
  expect(piece.status === 500).toBe(false);
});
