import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createOperatorFetch } from "../../../../runtime/http/fetch/operator-fetch.ts";
import { createSafeFetch } from "../../../../runtime/http/fetch/safe-fetch.ts";
import { parseDomainPattern } from "../../../../runtime/settings/domains.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";
import { POLL_MS } from "../../../support/limits.ts";
import { freePort } from "../../../support/ports.ts";
import { startVictim, type Victim } from "../../../support/victim.ts";

let victim: Victim;

beforeAll(async () => {
  victim = await startVictim(({ target }, socket) => {
    if (target === "/redirect") socket.write("HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n");
    else if (target === "/empty") socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    else if (target === "/large") socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n${"x".repeat(200)}`);
    else if (target === "/endless")
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\n${"x".repeat(100)}\r\n1\r\nx\r\n`);
    else if (target === "/json")
      socket.write("HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
    else if (target === "/deep")
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n${"[".repeat(100)}`,
      );
    else if (target === "/broken") socket.destroy();
  });
});
afterAll(() => victim.close());

describe("createOperatorFetch()", () => {
  const fetch = createOperatorFetch({ timeoutMs: POLL_MS, maxBytes: 100 });

  test("gives status, headers and body as they are", async () => {
    const answer = await fetch(`${victim.origin}/json`, { method: "POST", body: "a=b", headers: { "x-a": "1" } });
    expect([answer.status, answer.headers.get("content-type"), await answer.json()]).toEqual([
      404,
      "application/json",
      {},
    ]);
    expect(victim.requests.at(-1)?.header("x-a")).toBe("1");
    expect((await fetch(`${victim.origin}/empty`)).status).toBe(204);
  });

  test.each([
    ["/redirect", "fetch.redirect"],
    ["/large", "fetch.too-large"],
    ["/endless", "fetch.too-large"],
    ["/deep", "fetch.too-large"],
    ["/silent?token=secret", "fetch.timeout", 100],
    ["/broken", "fetch.unreachable"],
  ])("refuses what %s does: %s", async (path, code, timeoutMs = POLL_MS) => {
    const error: unknown = await createOperatorFetch({ timeoutMs, maxBytes: 100 })(victim.origin + path).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain("secret");
    expect(victim.requests.map(({ target }) => target)).not.toContain("/elsewhere");
  });

  test("says where to name the CA of a certificate that no known CA has signed", async () => {
    const { cert, key } = makeTestCertificate({ name: "localhost", dns: ["localhost"] });
    const server = createServer({ cert, key }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    try {
      await expect(fetch(`https://localhost:${port}/`)).rejects.toMatchObject({
        code: "fetch.unreachable",
        message: `Cannot fetch from "localhost:${port}": self-signed certificate; name the CA's PEM file in NODE_EXTRA_CA_CERTS`,
      });
      const target = { kind: "listed", domains: [parseDomainPattern("localhost")], private: "exact" } as const;
      const guarded = createSafeFetch({ development: true });
      expect(await guarded({ url: `https://localhost:${port}/`, target, maxBytes: 100, timeoutMs: POLL_MS })).toEqual({
        ok: false,
        reason: "unreachable",
        detail: `localhost:${port}: DEPTH_ZERO_SELF_SIGNED_CERT; name the CA's PEM file in NODE_EXTRA_CA_CERTS`,
      });
    } finally {
      server.close();
    }
  });

  test("reports that the host is unreachable", async () => {
    await expect(fetch(`http://127.0.0.1:${await freePort()}/`)).rejects.toMatchObject({ code: "fetch.unreachable" });
  });
});
