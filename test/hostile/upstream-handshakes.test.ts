/** Cost of a TLS connection to an upstream for others: neither its owner nor its server can choose it. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";

import { expect, onTestFinished, test } from "vitest";

import type { UpstreamConnect } from "../../runtime/features/connection/compiled.ts";
import { compileConnect } from "../../runtime/features/connection/compile.ts";
import type { ConnectionDoc } from "../../runtime/features/connection/settings.ts";
import { refuseChosenGroups } from "../../runtime/shared/net/chosen-groups.ts";
import { largeRsaKey, makeTestCertificate } from "../support/certificates.ts";
import { startGateway } from "../support/gateway.ts";

const authority = makeTestCertificate({ name: "authority", isAuthority: true });
const compile = (doc: ConnectionDoc): UpstreamConnect | undefined =>
  compileConnect({ key: "a/b", doc }, { resolve: String, open: String });

test("authorities are read once for all connections and routes that have the same", () => {
  const [one, same, other] = [
    compile({ tls_custom_ca: authority.cert }),
    compile({ tls_custom_ca: authority.cert, http2: true }),
    compile({ tls_custom_ca: `${authority.cert}\n${authority.cert}` }),
  ];
  expect(one?.tls.secureContext).toBeDefined();
  expect(same?.tls.secureContext).toBe(one?.tls.secureContext);
  expect(other?.tls.secureContext).not.toBe(one?.tls.secureContext);
  expect(new Set([one, same, other].map((each) => each?.poolKey)).size).toBe(3);
});

test("more authorities than all public ones are rejected, and so is a key with slow signatures", () => {
  const { cert, key } = makeTestCertificate({ name: "gateway", by: authority, keys: largeRsaKey() });
  expect(() => compile({ tls_custom_ca: authority.cert.repeat(1_200) })).toThrow(/"tls_custom_ca" has more than/);
  expect(() => compile({ tls_client_cert: cert, tls_client_key: key })).toThrow(/RSA of at most 4096 bits/);
});

const DHE = "DHE-RSA-AES256-GCM-SHA384";

/** It agrees on nothing but a group that it makes up. */
async function startDheServer(): Promise<number> {
  const { privateKey, publicKey } = largeRsaKey();
  const { cert, key } = makeTestCertificate({
    name: "s",
    dns: ["localhost"],
    by: authority,
    keys: { privateKey, publicKey },
  });
  const server = createServer({ cert, key, ciphers: DHE, dhparam: "auto", maxVersion: "TLSv1.2" }, (socket) =>
    socket.end(),
  );
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** @param ciphers default: those of the process */
function handshake(port: number, ciphers?: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket: TLSSocket = connect(
    { port, host: "127.0.0.1", ca: authority.cert, servername: "localhost", ...(ciphers && { ciphers }) },
    () => {
      resolve(socket.getCipher().name);
      socket.destroy();
    },
  );
  socket.on("error", () => resolve("refused"));
  return promise;
}

test("no connection of the process agrees on a group of numbers that the server makes up", async () => {
  const port = await startDheServer();
  expect(await handshake(port, DHE)).toBe(DHE);
  const route = {
    from: "{origin}",
    to: `https://localhost:${port}`,
    // Not as above: a context keeps the suites of when it was made.
    tls_custom_ca: `${authority.cert}\n\n`,
    policy: [{ allow: { and: [{ accept: true }] } }],
  };
  const gateway = await startGateway({ yaml: `routes: [${JSON.stringify(route)}]` });
  onTestFinished(() => gateway.close());
  expect((await fetch(gateway.origin)).status).toBe(502);
  expect(gateway.log()).toContain("handshake failure");
  expect(await handshake(port)).toBe("refused");
  // Each start calls it.
  refuseChosenGroups();
  expect(await handshake(port)).toBe("refused");
});
