/** Memory of connections without a request in progress. */
import { ServerResponse } from "node:http";
import { queryObjects } from "node:v8";

import { expect, test } from "vitest";

import type { Exchange } from "../../../../runtime/http/exchange.ts";
import { createHttpServer } from "../../../../runtime/http/listener/server.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { openRaw } from "../../../support/raw-client.ts";

const GET = "GET / HTTP/1.1\r\nhost: a.example\r\n\r\n";

test("an idle connection holds nothing of its last request", async () => {
  const exchanges: WeakRef<Exchange>[] = [];
  let statuses = "";
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log: silentLog(),
    handle(exchange) {
      exchanges.push(new WeakRef(exchange));
      // As records do.
      exchange.onClose(() => void (statuses += `${exchange.status} `));
      exchange.respond(200, [], "ok");
    },
  });
  const client = openRaw(server.port);
  for (let count = 1; count <= 2; count += 1) {
    client.socket.write(GET);
    await expect.poll(() => client.text.split("ok").length - 1).toBe(count);
  }
  await expect
    .poll(() => {
      // Collects what is garbage, to count the rest.
      queryObjects(ServerResponse, { format: "count" });
      return exchanges.filter((each) => each.deref() !== undefined).length;
    })
    .toBe(0);
  expect(statuses).toBe("200 200 ");
  expect(await server.connections()).toBe(1);
  client.socket.destroy();
  await server.close({ timeoutMs: 0 });
});
