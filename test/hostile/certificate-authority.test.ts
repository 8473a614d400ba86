/** A certificate authority that means harm, or is broken: each answer is bounded, ends the round and delays the next one. */
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";

import { openAcme } from "../../runtime/acme/acme.ts";
import { openCaConnection } from "../../runtime/acme/ca-connection.ts";
import { closeAll } from "../../runtime/shared/faults/close-all.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { createTestClock } from "../support/clock.ts";
import { snapshotFrom } from "../support/config.ts";

let folder: CertificateFolder;
let server: Server;
let origin = "";
let caFile = "";
let requests = 0;
let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};

beforeAll(async () => {
  folder = await openCertificateFolder();
  const authority = makeTestCertificate({ name: "authority", isAuthority: true });
  await folder.write("ca", authority);
  caFile = join(folder.path, "ca.crt");
  const { cert, key } = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
  server = createServer({ cert, key }, (request, response) => {
    requests += 1;
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `https://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await folder?.close();
});

function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

const CASES: readonly (readonly [name: string, expected: RegExp, answer: typeof answer])[] = [
  ["more than it may send", /more than 262144 bytes/, (_, response) => json(response, 200, "x".repeat(300_000))],
  ["text instead of JSON", /account/, (_, response) => void response.end("<html>")],
  [
    "broken JSON",
    /invalid JSON/,
    (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end("{"),
  ],
  [
    "deep JSON",
    /invalid JSON/,
    (_, response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end("[".repeat(100) + "]".repeat(100)),
  ],
  [
    "a redirect to itself",
    /redirects \(308\)/,
    (request, response) => void response.writeHead(308, { location: `${origin}${request.url}` }).end(),
  ],
  [
    "addresses that are not https",
    /not https/,
    (_, response) => json(response, 200, { newNonce: "http://127.0.0.1:1/", newAccount: "http://127.0.0.1:1/" }),
  ],
  ["a directory of nothing", /no account/, (_, response) => json(response, 200, {})],
  [
    "a long message with control characters",
    /^no account: serverInternal: \\u001b\[2Jx+… \(\d+ more characters\) \(500\)$/,
    (_, response) =>
      json(response, 500, {
        type: "urn:ietf:params:acme:error:serverInternal",
        detail: `\u001b[2J${"x".repeat(5000)}`,
      }),
  ],
  ["a closed connection", /cannot be reached/, (request) => void request.socket.destroy()],
];

async function open() {
  const clock = createTestClock(Date.now());
  const store = await openRecords("memory:", { clock, log: silentLog() });
  const settings = {
    directory: `${origin}/dir`,
    caFile,
    email: undefined,
    externalAccount: undefined,
    isAllowed: () => true,
  };
  const routes = [{ from: "https://app.example.test", to: "http://127.0.0.1:1", policy: [] }];
  const snapshot = snapshotFrom(stringify({ routes }));
  const acme = await openAcme(settings, {
    store,
    keys: createKeys([Buffer.alloc(32, 1)]),
    snapshots: { current: () => snapshot, subscribe: () => () => {} },
    notify: () => {},
    clock,
    log: silentLog(),
    everyMs: 86_400_000,
  });
  requests = 0;
  acme.start({ covers: () => false, challenges: ["tls-alpn-01"] });
  return { acme, clock, close: () => closeAll([store, acme]) };
}

describe("a certificate authority that sends", () => {
  test.each(CASES)("%s", async (_name, expected, respond) => {
    answer = respond;
    const { acme, clock, close } = await open();
    await acme.work();
    const { paused } = acme.status();
    expect(paused?.reason).toMatch(expected);
    expect(paused?.reason.length).toBeLessThan(600);
    expect(requests).toBeLessThan(4);
    // Not again before the pause ends.
    const before = requests;
    await acme.work();
    expect(requests).toBe(before);
    clock.advance(5 * 60_000);
    await acme.work();
    expect(requests).toBeGreaterThan(before);
    await close();
  });

  test("a time to wait is given that time, at most a day", async () => {
    const limited = { type: "urn:ietf:params:acme:error:rateLimited", detail: "too many" };
    answer = (_, response) => json(response, 429, limited, { "retry-after": "7200" });
    const first = await open();
    await first.acme.work();
    const now = Math.floor(first.clock.now() / 1000);
    expect(first.acme.status().paused?.until).toBe(now + 7200);
    await first.close();

    answer = (_, response) => json(response, 503, limited, { "retry-after": "99999999" });
    const second = await open();
    await second.acme.work();
    expect((second.acme.status().paused?.until ?? 0) - Math.floor(second.clock.now() / 1000)).toBe(86_400);
    await second.close();
  });

  test("nothing at all is left after the time of a request", async () => {
    answer = () => {};
    const connection = await openCaConnection({ caFile, now: () => Date.now(), timeoutMs: 100 });
    const sent = connection.send({ method: "GET", url: `${origin}/dir` }, new AbortController().signal);
    await expect(sent).rejects.toMatchObject({ name: "AcmeFailure", scope: "directory" });
    await connection.close();
  });
});
