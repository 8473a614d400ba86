/**
 * Slices that are too many or too large for one request: several requests, and a slice that no gateway accepts delays no
 * other.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, expect, test } from "vitest";

import { createAdminPublisher, type SliceText } from "../../../../runtime/kubernetes/controller/publisher.ts";

const MIB = 1024 * 1024;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Answer {
  readonly status: number;
  readonly body: object;
}

/** A gateway without published slices. @param respond its response for the owners in a request */
async function gatewayThat(respond: (owners: readonly string[]) => Answer) {
  const posts: string[][] = [];
  const bytes: number[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      if (request.method === "GET") return response.end(JSON.stringify({ slices: [] }));
      const { changes } = JSON.parse(body.toString()) as { changes: { owner: string }[] };
      const owners = changes.map(({ owner }) => owner);
      posts.push(owners);
      bytes.push(body.length);
      const answer = respond(owners);
      return response.writeHead(answer.status).end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const folder = mkdtempSync(join(tmpdir(), "gateway-split-"));
  writeFileSync(join(folder, "token"), "token");
  closing.push(
    () => new Promise((resolve) => server.close(resolve)),
    () => rmSync(folder, { recursive: true }),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const publisher = createAdminPublisher({ url, owner: "kubernetes", tokenFile: join(folder, "token") });
  return { publisher, posts, bytes };
}

test("a rejected token is reported by its file, with the remedy", async () => {
  const server = createServer((_request, response) => response.writeHead(401).end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const folder = mkdtempSync(join(tmpdir(), "gateway-split-"));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "token");
  closing.push(
    () => new Promise((resolve) => server.close(resolve)),
    () => rmSync(folder, { recursive: true }),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const publisher = createAdminPublisher({ url, owner: "kubernetes", tokenFile });

  await expect(publisher.sealKey()).rejects.toThrow(
    `Cannot read the seal key of ${url}: it does not accept the token in ${tokenFile}; a gateway reads its tokens at start, restart it after a change`,
  );
});

const GOOD: Answer = { status: 200, body: {} };
/** With three bytes for each character. */
function sliceOf(namespace: string, mib: number): SliceText {
  const owner = `kubernetes.${namespace}`;
  const text = JSON.stringify({ version: 1, owner, routes: {}, filler: "語".repeat((mib * MIB) / 3) });
  return { owner, text: `${text}\n`, digest: namespace };
}

test("changes above the size of a request go in several, counted in bytes", async () => {
  const { publisher, posts, bytes } = await gatewayThat(() => GOOD);
  const slices = ["a", "b", "c", "d", "e"].map((namespace) => sliceOf(namespace, 6));
  expect(await publisher.publish(slices)).toEqual({ kind: "published" });
  expect(posts).toEqual([["kubernetes.a", "kubernetes.b"], ["kubernetes.c", "kubernetes.d"], ["kubernetes.e"]]);
  expect(Math.max(...bytes)).toBeLessThan(17 * MIB);
});

test("only a slice that no gateway accepts waits, and is named", async () => {
  const tooLarge: Answer = { status: 413, body: { message: "changes must have at most 67108864 bytes" } };
  const { publisher, posts } = await gatewayThat((owners) => (owners.includes("kubernetes.c") ? tooLarge : GOOD));
  const slices = ["a", "b", "c", "d"].map((namespace) => sliceOf(namespace, 0));
  expect(await publisher.publish(slices)).toEqual({
    kind: "published",
    waiting: [
      { severity: "error", owner: "kubernetes.c", path: [], message: "changes must have at most 67108864 bytes" },
    ],
  });
  expect(posts.slice(1)).toEqual([
    ["kubernetes.a", "kubernetes.b"],
    ["kubernetes.c", "kubernetes.d"],
    ["kubernetes.c"],
    ["kubernetes.d"],
  ]);
});

test("a host that another namespace must give up first is requested again", async () => {
  const published = new Set<string>();
  const taken: Answer = { status: 422, body: { message: "b has it" } };
  const { publisher, posts } = await gatewayThat((owners) => {
    if (owners.includes("kubernetes.a") && !published.has("kubernetes.b")) return taken;
    for (const owner of owners) published.add(owner);
    return GOOD;
  });
  expect(await publisher.publish([sliceOf("a", 10), sliceOf("b", 10)])).toEqual({ kind: "published" });
  expect(posts.flat()).toEqual(["kubernetes.a", "kubernetes.b", "kubernetes.a"]);
});
