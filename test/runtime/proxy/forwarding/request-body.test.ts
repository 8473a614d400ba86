import { once } from "node:events";
import { buffer } from "node:stream/consumers";

import { expect, test } from "vitest";

import { RequestBody } from "../../../../runtime/proxy/forwarding/request-body.ts";
import { createFakeExchange } from "../../../support/fake-exchange.ts";

test("a body that has come whole is sent whole, also where its client's stream closes before the upstream takes it", async () => {
  const exchange = createFakeExchange({ hasBody: true });
  const body = new RequestBody(exchange);
  const closed = once(exchange.body, "close");
  exchange.body.end(Buffer.alloc(10_000, "x"));
  body.read(0);
  await closed;
  expect(await buffer(body)).toHaveLength(10_000);
});

test("a body that breaks off is not taken for a whole one", async () => {
  const exchange = createFakeExchange({ hasBody: true });
  const body = new RequestBody(exchange);
  const closed = once(exchange.body, "close");
  exchange.body.write(Buffer.alloc(10_000, "x"));
  body.read(0);
  exchange.body.destroy();
  await closed;
  await expect(buffer(body)).rejects.toThrow("the client's body was truncated");
});
