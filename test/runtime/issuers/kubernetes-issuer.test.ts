/** A cluster as issuer: its name from the pod's own token, its keys from its API server, over TLS with its own authority. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { compileTrustedIssuers } from "../../../runtime/features/sign-in/trusted-issuers.ts";
import { createIssuerKeys, type IssuerKeys } from "../../../runtime/issuers/issuer-keys.ts";
import { createKubernetesIssuer } from "../../../runtime/issuers/kubernetes-issuer.ts";
import { verifyWorkload, type WorkloadResult } from "../../../runtime/issuers/workload-token.ts";
import { epochSeconds } from "../../../runtime/shared/clock.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { makeTestCertificate, type TestCertificate } from "../../support/certificates.ts";
import { makeSigningKey, type SigningKey } from "../../support/client-assertion.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { ORIGIN } from "../../support/issuer.ts";
import { jobClaims, signJob } from "../../support/workload.ts";

const ISSUER = "https://kubernetes.default.svc.cluster.local";

let authority: TestCertificate;
let certificate: TestCertificate;
let key: SigningKey;
beforeAll(async () => {
  authority = makeTestCertificate({ name: "cluster", isAuthority: true });
  certificate = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
  key = await makeSigningKey("RS256", "cluster");
});

let directory: string;
let server: Server;
let clock: TestClock;
let asked: { readonly path: string | undefined; readonly authorization: string | undefined }[];
/** Response of the API server. */
let answer: { status: number; body: string; headers?: Record<string, string> };

beforeEach(async () => {
  clock = createTestClock();
  asked = [];
  answer = { status: 200, body: JSON.stringify({ keys: [key.jwk] }) };
  directory = await mkdtemp(join(tmpdir(), "gw-kube-"));
  server = createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    asked.push({ path: request.url, authorization: request.headers.authorization });
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await mount(await podToken());
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

const port = (): number => (server.address() as AddressInfo).port;

async function mount(token: string, ca = authority.cert): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "token"), `${token}\n`);
  await writeFile(join(directory, "ca.crt"), ca);
}

const podToken = (iss = ISSUER): Promise<string> =>
  signJob(jobClaims(clock.now(), { iss, sub: "system:serviceaccount:gateway:gateway" }), key, { typ: undefined });

const agentToken = (claims: Readonly<Record<string, unknown>> = {}): Promise<string> => {
  const sub = "system:serviceaccount:prod:agent";
  return signJob(jobClaims(clock.now(), { iss: ISSUER, sub, ...claims }), key, { typ: undefined });
};

function keysOf(env: Readonly<Record<string, string>> = pod()): IssuerKeys {
  return createIssuerKeys({
    fetch: () => Promise.reject(new Error("a cluster's keys are asked of its API server alone")),
    clock,
    log: silentLog(),
    kubernetes: createKubernetesIssuer(clock, { directory, env }),
  });
}

const pod = (): Record<string, string> => ({
  KUBERNETES_SERVICE_HOST: "localhost",
  KUBERNETES_SERVICE_PORT: String(port()),
});

async function verify(token: string, keys = keysOf(), issuer = "kubernetes:///"): Promise<WorkloadResult> {
  const rules = { prod: { claims: { sub: ["system:serviceaccount:prod:*"] }, resources: [ORIGIN] } };
  const entries = compileTrustedIssuers(
    { identity_issuers: { cluster: { issuer, uses: ["workload"], workload_rules: rules } } },
    undefined,
  );
  return verifyWorkload(keys, { entries, audiences: [ORIGIN], now: epochSeconds(clock) }, token);
}

describe("a cluster", () => {
  test("is the issuer of its service accounts: keys come from its API server, with the pod's own token", async () => {
    expect(await verify(await agentToken())).toMatchObject({
      ok: true,
      workload: { userId: "workload:cluster/system:serviceaccount:prod:agent" },
    });
    expect(asked).toEqual([{ path: "/openid/v1/jwks", authorization: expect.stringMatching(/^Bearer ey/) }]);
  });

  test("is requested at another address, if configured", async () => {
    const keys = keysOf({});
    const result = await verify(await agentToken(), keys, `kubernetes://localhost:${port()}`);
    expect(result).toMatchObject({ ok: true });
    expect(await verify(await agentToken(), keysOf({}))).toMatchObject({ ok: false, reason: "unavailable" });
  });

  test("provides no keys for other issuers, or for its legacy tokens", async () => {
    const unknown = { ok: false, reason: "bad", detail: expect.stringContaining("iss is not an issuer") as string };
    expect(await verify(await agentToken({ iss: "https://elsewhere.example" }))).toMatchObject(unknown);
    await mount(await podToken("kubernetes/serviceaccount"));
    expect(await verify(await agentToken({ iss: "kubernetes/serviceaccount" }))).toMatchObject(unknown);
    expect(await verify(await agentToken({ iss: "kubernetes:///" }))).toMatchObject(unknown);
    expect(await verify(await agentToken({ iss: undefined }))).toMatchObject(unknown);
    expect(asked).toEqual([]);
  });

  test("reads the token again for each request, since it changes", async () => {
    const keys = keysOf();
    expect(await verify(await agentToken(), keys)).toMatchObject({ ok: true });
    clock.advance(6 * 60_000);
    const rotated = await podToken();
    await mount(rotated);
    expect(await verify(await agentToken(), keys)).toMatchObject({ ok: true });
    expect(asked.map(({ authorization }) => authorization)).toEqual([expect.any(String), `Bearer ${rotated}`]);
  });

  test("is detected later if there is none at first", async () => {
    await rm(join(directory, "token"));
    const keys = keysOf();
    expect(await verify(await agentToken(), keys)).toMatchObject({ ok: false, reason: "bad" });
    await mount(await podToken());
    expect(await verify(await agentToken(), keys)).toMatchObject({ ok: false, reason: "bad" });
    clock.advance(10_000);
    expect(await verify(await agentToken(), keys)).toMatchObject({ ok: true });
  });

  test.each<[string, () => Promise<void> | void]>([
    [
      "signed by another authority",
      async () => mount(await podToken(), makeTestCertificate({ name: "x", isAuthority: true }).cert),
    ],
    [
      "that leads elsewhere",
      () => void (answer = { status: 302, body: "", headers: { location: "https://evil.example" } }),
    ],
    ["that refuses the pod", () => void (answer = { status: 403, body: "{}" })],
    [
      "that answers 101",
      () => void (answer = { status: 101, body: "", headers: { connection: "upgrade", upgrade: "x" } }),
    ],
    ["that answers with no JSON", () => void (answer = { status: 200, body: "<html>" })],
    [
      "that answers without end",
      () => void (answer = { status: 200, body: JSON.stringify({ keys: [key.jwk], more: "x".repeat(1024 * 1024) }) }),
    ],
    ["without keys", () => void (answer = { status: 200, body: '{"keys":[]}' })],
  ])("is unavailable: an API server %s", async (_, change) => {
    const keys = keysOf();
    const token = await agentToken();
    // Its name is known by then.
    await keys.issuerOf({
      name: "cluster",
      issuer: "kubernetes:///",
      keys: { kind: "kubernetes", host: undefined },
      algorithms: [],
    });
    await change();
    expect(await verify(token, keys)).toMatchObject({ ok: false, reason: "unavailable" });
    expect(asked.length).toBeLessThanOrEqual(1);
  });
});
