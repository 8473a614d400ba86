/** What happens to a connection that comes while the last worker closes its listener. With real workers of `cluster`. */
import cluster from "node:cluster";
import { once } from "node:events";
import { connect } from "node:net";

import { afterEach, expect, test } from "vitest";

import { createHandover } from "../../../runtime/workers/handover.ts";

afterEach(async () => {
  for (const worker of Object.values(cluster.workers ?? {})) {
    worker?.process.kill("SIGKILL");
    if (worker?.process.exitCode === null) await once(worker, "exit");
  }
});

test("a connection that the last worker gives back because it has closed is closed", async () => {
  cluster.setupPrimary({ exec: new URL("../../support/closing-worker.ts", import.meta.url).pathname });
  const worker = cluster.fork();
  const { process: child } = worker;
  const send = child.send.bind(child) as (...args: unknown[]) => boolean;
  // It hears that it is to close before it gets the connection, and cluster hears that it did behind that.
  child.send = (...args: unknown[]) => {
    if ((args[0] as { readonly act?: string }).act === "newconn") send("close");
    return send(...args);
  };
  createHandover()(worker);
  const [{ port }] = (await once(worker, "listening")) as [{ port: number }];
  const client = connect(port, "127.0.0.1");
  client.on("error", () => {});
  client.resume();
  await once(client, "close");
  expect(client.bytesRead).toBe(0);
});
