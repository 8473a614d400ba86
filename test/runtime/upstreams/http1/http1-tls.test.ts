/** TLS to upstreams: who is not who he should be gets no request, whatever he says and however often we come. */
import type { Socket } from "node:net";
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type TlsOptions,
  type TLSSocket,
} from "node:tls";

import { beforeEach, describe, expect, test } from "vitest";

import type { Upstream, UpstreamConnect } from "../../../../runtime/features/connection/compiled.ts";
import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";
import { loopTurns, outcome } from "../../../support/ask-upstream.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";
import { ok, okText, type ScriptedUpstream } from "../../../support/scripted-upstream.ts";
import { upstreamsOfEachTest } from "../../../support/upstream-suite.ts";
import { createHttp1Transport } from "../../../../runtime/upstreams/transport.ts";

const authority = makeTestCertificate({ name: "authority", isAuthority: true });
const good = makeTestCertificate({ name: "good", dns: ["localhost"], by: authority });
const other = makeTestCertificate({ name: "other", dns: ["other.example"], by: authority });
const stranger = makeTestCertificate({ name: "stranger", dns: ["localhost"] });
const client = makeTestCertificate({ name: "gateway", by: authority });

let transport: Transport;
beforeEach(() => {
  transport = createHttp1Transport({ connectTimeoutMs: 2_000 });
});
const startUpstream = upstreamsOfEachTest(() => transport.close());

function start(tls: TlsOptions, script = ok("ok")): Promise<ScriptedUpstream> {
  return startUpstream(script, { tls });
}

type Tls = Partial<UpstreamConnect["tls"]> & Pick<SecureContextOptions, "ca" | "cert" | "key">;

function trusting(upstream: Upstream, tls: Tls = {}): Upstream {
  const all = { rejectUnauthorized: true, ca: authority.cert, ...tls };
  const { ca, cert, key, ...rest } = all;
  const secureContext = createSecureContext({ ca, cert, key });
  const poolKey = `${upstream.origin} ${JSON.stringify(all)}`;
  return { ...upstream, connect: { poolKey, http2: false, tls: { ...rest, secureContext } } };
}

const versions = ["TLSv1.2", "TLSv1.3"] as const;

describe.each(versions)("over %s", (version) => {
  const only = { minVersion: version, maxVersion: version } as const;

  test("a connection is used again, and the next one resumes the session", async () => {
    const resumed: boolean[] = [];
    const server = await start({ cert: good.cert, key: good.key, ...only }, (socket) => {
      resumed.push((socket as TLSSocket).isSessionReused());
      socket.write(okText("ok"));
    });
    const upstream = trusting(server.upstream);
    for (let round = 0; round < 3; round += 1) {
      expect((await outcome(transport, upstream)).body.toString()).toBe("ok");
    }
    expect(server.connections).toBe(1);
    for (const socket of server.open) socket.destroy();
    await expect.poll(() => server.open.size).toBe(0);
    await loopTurns();
    expect((await outcome(transport, upstream)).body.toString()).toBe("ok");
    expect(resumed).toEqual([false, false, false, true]);
  });

  // A session is resumed without a look at the name: it must never be kept from a peer that has another one.
  test.each([
    ["a certificate for another name", other, {}, "protocol"],
    ["a certificate that nobody vouches for", stranger, {}, "protocol"],
    ["a name that the settings do not ask for", good, { servername: "inner.example" }, "protocol"],
  ])("%s gets no request, at the first time and at the tenth", async (_name, certificate, tls, failure) => {
    const server = await start({ cert: certificate.cert, key: certificate.key, ...only });
    const upstream = trusting(server.upstream, tls);
    for (let round = 0; round < 10; round += 1) {
      expect((await outcome(transport, upstream)).failure).toBe(failure);
    }
    expect(server.requests).toEqual([]);
    await expect.poll(() => server.open.size).toBe(0);
  });

  test("settings decide by which name the upstream is asked, and whether it is checked", async () => {
    const names: unknown[] = [];
    const server = await start({ cert: other.cert, key: other.key, ...only }, (socket) => {
      names.push((socket as TLSSocket & { servername: unknown }).servername);
      socket.write(okText("ok"));
    });
    expect((await outcome(transport, trusting(server.upstream, { servername: "other.example" }))).status).toBe(200);
    expect((await outcome(transport, trusting(server.upstream, { rejectUnauthorized: false }))).status).toBe(200);
    expect(names).toEqual(["other.example", "localhost"]);
    // A check that one route disables still applies to another, although both use the same address.
    expect((await outcome(transport, trusting(server.upstream))).failure).toBe("protocol");
  });

  test("an upstream that asks for a certificate gets ours, or no request", async () => {
    const names: unknown[] = [];
    const tls = { cert: good.cert, key: good.key, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
    const server = await start({ ...tls, ...only }, (socket) => {
      names.push((socket as TLSSocket).getPeerCertificate().subject.CN);
      socket.write(okText("ok"));
    });
    const known = trusting(server.upstream, { cert: client.cert, key: client.key });
    expect((await outcome(transport, known)).status).toBe(200);
    for (let round = 0; round < 3; round += 1) {
      expect((await outcome(transport, trusting(server.upstream))).failure).toMatch(/^(protocol|reset|unreachable)$/);
    }
    expect(names).toEqual(["gateway"]);
  });

  test("an answer arrives whole, in pieces of any size and through pauses", async () => {
    const size = 1_000_003;
    const server = await start({ cert: good.cert, key: good.key, ...only }, (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
      for (let at = 0; at < size; at += 9_973) socket.write(Buffer.alloc(Math.min(9_973, size - at), "t"));
    });
    for (let round = 0; round < 3; round += 1) {
      const { body } = await outcome(transport, trusting(server.upstream), {
        onData(call) {
          call.pause();
          setImmediate(() => call.resume());
        },
      });
      expect(body.equals(Buffer.alloc(size, "t"))).toBe(true);
    }
    expect(server.connections).toBe(1);
  });
});

describe("an upstream that is not a TLS server", () => {
  test.each([
    ["closes at once", (socket: Socket) => socket.end(), "unreachable"],
    ["resets at once", (socket: Socket) => socket.resetAndDestroy(), "unreachable"],
    ["speaks something else", (socket: Socket) => socket.write(okText("hello")), "protocol"],
    ["says nothing", () => {}, "connect-timeout"],
  ])("and %s fails each request once, and is not asked without end", async (_name, onConnection, failure) => {
    const server = await startUpstream(undefined, { raw: true, onConnection });
    await transport.close();
    // An upstream that responds gets the full time.
    const connectTimeoutMs = failure === "connect-timeout" ? 100 : 25_000;
    transport = createHttp1Transport({ connectTimeoutMs });
    const upstream = { ...server.upstream, origin: `https://127.0.0.1:${server.port}` };
    const all = await Promise.all([1, 2, 3].map(() => outcome(transport, upstream, { method: "POST" })));
    expect(all.map((each) => each.failure)).toEqual([failure, failure, failure]);
    await expect.poll(() => server.connections).toBe(3);
    await loopTurns(20);
    expect(server.connections).toBe(3);
    await expect.poll(() => server.open.size).toBe(0);
  });

  test("settings that cannot be used fail each request, and say which", async () => {
    const server = await start({ cert: good.cert, key: good.key });
    const tls = { rejectUnauthorized: true, secureContext: {} as SecureContext };
    const upstream = { ...server.upstream, connect: { poolKey: "unusable", http2: false, tls } };
    for (let round = 0; round < 2; round += 1) {
      const { failure, detail } = await outcome(transport, upstream);
      expect(failure).toBe("protocol");
      expect(detail).not.toBe("");
    }
    expect(server.connections).toBe(0);
  });
});
