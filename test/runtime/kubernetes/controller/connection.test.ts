/** One HTTP/2 connection carries everything to the API server: what happens when it dies without a word. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, expect, test } from "vitest";

import { createKubeClient } from "../../../../runtime/kubernetes/controller/client.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** An API server over TLS, and a proxy in front of it that can stop forwarding bytes of open connections. */
async function start() {
  const { cert, key } = makeTestCertificate({ name: "localhost", dns: ["localhost"] });
  const watches: ServerHttp2Stream[] = [];
  const server = createSecureServer({ cert, key });
  server.on("stream", (stream: ServerHttp2Stream, headers) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/json" });
    if (String(headers[":path"]).includes("watch=true")) {
      watches.push(stream);
      stream.write(`{"type":"BOOKMARK"}\n`);
    } else stream.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  let connections = 0;
  const relay = createServer((near) => {
    connections += 1;
    const far = connect((server.address() as AddressInfo).port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => [near, far].forEach((each) => each.destroy()));
    }
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  closers.push(
    () => server.close(),
    () => relay.close(),
    () => sockets.forEach((socket) => socket.destroy()),
  );
  const kubeconfig = JSON.stringify({
    clusters: [
      {
        name: "test",
        cluster: {
          server: `https://localhost:${(relay.address() as AddressInfo).port}`,
          "certificate-authority-data": Buffer.from(cert).toString("base64"),
        },
      },
    ],
    users: [{ name: "test", user: { token: "t" } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  });
  return {
    kubeconfig,
    cert,
    watches,
    /** The server has another certificate, and its connections end. */
    renew(next: { readonly cert: string; readonly key: string }) {
      server.setSecureContext(next);
      for (const socket of sockets) socket.destroy();
    },
    connections: () => connections,
    freeze: () => sockets.forEach((socket) => socket.unpipe().pause()),
  };
}

const PATH = "/apis/networking.k8s.io/v1/ingresses";

test("a request that gets no response replaces a dead connection, ends its watches, and is counted", async () => {
  const api = await start();
  let dropped = 0;
  const client = await createKubeClient({ ...api, timeoutMs: 300, onConnectionLost: () => (dropped += 1) });
  closers.push(() => client.close());
  const lines = client.watch({ path: PATH, query: { watch: "true" } })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toContain("BOOKMARK");
  const ended = expect(lines.next()).rejects.toThrow("connection unresponsive");
  expect(await client.request({ method: "GET", path: PATH })).toEqual({});
  expect(api.connections()).toBe(1);
  api.freeze();
  await expect(client.request({ method: "GET", path: PATH })).rejects.toThrow("Cannot GET");
  await ended;
  expect(dropped).toBe(1);
  expect(await client.request({ method: "GET", path: PATH })).toEqual({});
  expect(api.connections()).toBe(2);
});

test("a watch without a byte ends, and the next one uses another connection than a dead one", async () => {
  const api = await start();
  const client = await createKubeClient({ ...api, silenceMs: 300 });
  closers.push(() => client.close());
  const watch = () => client.watch({ path: PATH, query: { watch: "true" } })[Symbol.asyncIterator]();
  const first = watch();
  await first.next();
  api.freeze();
  await expect(first.next()).rejects.toThrow("no bookmark within 300 ms");
  expect((await watch().next()).value).toContain("BOOKMARK");
  expect(api.connections()).toBe(2);
});

test("another authority in the kubeconfig's file counts without a restart", async () => {
  const api = await start();
  const folder = await mkdtemp(join(tmpdir(), "authority-"));
  closers.push(() => rm(folder, { recursive: true }));
  const config = JSON.parse(api.kubeconfig) as { clusters: readonly { cluster: { server: string } }[] };
  const server = config.clusters[0]?.cluster.server;
  const clusters = [{ name: "test", cluster: { server, "certificate-authority": "ca.crt" } }];
  await writeFile(join(folder, "ca.crt"), api.cert);
  await writeFile(join(folder, "config"), JSON.stringify({ ...config, clusters }));
  const client = await createKubeClient({ kubeconfigFile: join(folder, "config") });
  closers.push(() => client.close());
  expect(await client.request({ method: "GET", path: PATH })).toEqual({});
  const next = makeTestCertificate({ name: "localhost", dns: ["localhost"] });
  api.renew(next);
  const isUnknown =
    /^GatewayError: Cannot GET \S+: the API server's certificate is signed by another CA than .* ca\.crt .*\(\w+\)$/;
  await expect.poll(() => client.request({ method: "GET", path: PATH }).catch(String)).toMatch(isUnknown);
  await writeFile(join(folder, "ca.crt"), next.cert);
  await expect.poll(() => client.request({ method: "GET", path: PATH }).catch(String)).toEqual({});
});
