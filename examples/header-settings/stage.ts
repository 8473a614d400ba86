/** The gateway with TLS, HTTP/2 and client certificates, two applications behind it, and Alice signed in in front. */
import { randomBytes } from "node:crypto";
import { request as plainRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as secureRequest } from "node:https";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "../../test/support/ports.ts";
import { synthBundle } from "../../cdktf/testing.ts";
import { startGateway } from "../../runtime/gateway.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { createBrowser, type Send } from "../../test/support/browser.ts";
import { makeTestCertificate } from "../../test/support/certificates.ts";
import { startIdentityProvider } from "../demo/identity-provider.ts";
import { visit } from "../demo/person.ts";
import { buildHeaderSettings } from "./gateway.ts";
import { type Seen, startApplication } from "./upstream.ts";

/** What is spoken with the gateway, and what the gateway speaks with the application. */
export interface Pair {
  readonly client: "HTTP/1.1" | "HTTP/2";
  readonly upstream: "http1" | "http2";
}

export const PAIRS: readonly Pair[] = (["HTTP/1.1", "HTTP/2"] as const).flatMap((client) =>
  (["http1", "http2"] as const).map((upstream) => ({ client, upstream })),
);

export interface Exchanged {
  readonly status: number;
  /** Of the answer, lower-case names. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** What the application saw. */
  readonly seen: Seen;
}

export interface HeaderStage {
  readonly origin: string;
  readonly issuer: string;
  /** SHA-256 of the certificate that Alice's client shows. */
  readonly fingerprint: string;
  /** Origin of the application. */
  readonly to: Readonly<Record<Pair["upstream"], string>>;
  /** Alice asks for a path below a route. */
  ask(pair: Pair, path: string, headers?: Readonly<Record<string, string>>): Promise<Exchanged>;
  /** One request of anybody. */
  readonly send: Send;
  close(): Promise<void>;
}

export async function startHeaderStage(): Promise<HeaderStage> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-headers-"));
  const port = await freePort();
  const origin = `https://localhost:${port}`;
  const authority = makeTestCertificate({ name: "authority of the example", isAuthority: true });
  const server = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
  const alice = makeTestCertificate({ name: "alice's laptop", by: authority });
  const file = (name: string): string => join(directory, name);
  await writeFile(file("ca.crt"), authority.cert);
  await writeFile(file("tls.crt"), server.cert);
  await writeFile(file("tls.key"), server.key, { mode: 0o600 });

  const applications = { http1: await startApplication("http1"), http2: await startApplication("http2") };
  const to = { http1: applications.http1.origin, http2: applications.http2.origin };
  const clients = [
    { client_id: "gateway", client_secret: "of-the-gateway", redirect_uris: [`${origin}/.gateway/callback`] },
  ];
  const identityProvider = await startIdentityProvider({ clients });
  const boot = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    certificates: [{ certificate_file: file("tls.crt"), certificate_key_file: file("tls.key") }],
    downstream_mtls: { ca_file: file("ca.crt"), enforcement: "policy" },
    // The identity provider and the applications are on loopback, without TLS.
    development: true,
    shared_secret: randomBytes(32).toString("base64"),
    storage_url: "memory:",
    authorize_log: file("authorize.log"),
    idp_provider_url: identityProvider.issuer,
    idp_client_id: "gateway",
    idp_client_secret: "of-the-gateway",
  };
  // JSON is YAML.
  await writeFile(file("gateway.yaml"), JSON.stringify(boot), { mode: 0o600 });
  const outdir = await mkdtemp(join(tmpdir(), "gateway-headers-app-"));
  const { stack } = buildHeaderSettings({ origin, upstreams: to, outdir });
  await writeFile(file("headers.json"), JSON.stringify(synthBundle(stack)));
  const gateway = await startGateway({ config: directory, log: createLog({ level: "error" }) });

  const tls = { ca: authority.cert, cert: alice.cert, key: alice.key };
  const send: Send = (request) => sendOverHttp1(request, tls);
  const browser = createBrowser(send);
  await visit(browser, `${origin}/.gateway/`, { user: "alice@example.com" });

  return {
    origin,
    issuer: identityProvider.issuer,
    fingerprint: alice.fingerprint,
    to,
    send,
    async ask({ client, upstream }, path, headers = {}) {
      const url = `${origin}/${upstream}/${path}`;
      const sent = { ...headers, cookie: browser.cookieHeader("localhost") };
      const answer =
        client === "HTTP/2" ? await sendOverHttp2(url, sent, tls) : await send({ method: "GET", url, headers: sent });
      if (answer.status !== 200) throw new Error(`${client} to ${upstream}: answered ${answer.status}`);
      return { status: answer.status, headers: answer.headers, seen: JSON.parse(answer.text) as Seen };
    },
    async close() {
      await gateway.close();
      await identityProvider.close();
      await applications.http1.close();
      await applications.http2.close();
      await rm(directory, { recursive: true, force: true });
      await rm(outdir, { recursive: true, force: true });
    },
  };
}

interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

function sendOverHttp1({ method, url, headers, body }: Parameters<Send>[0], tls: ClientTls): ReturnType<Send> {
  return new Promise((resolve, reject) => {
    // The identity provider has no TLS.
    const open = url.startsWith("https:") ? secureRequest : plainRequest;
    const sent = open(url, { method, headers: { ...headers }, agent: false, ...tls }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("error", reject);
      response.on("end", () => {
        const { "set-cookie": setCookies = [], ...rest } = response.headers;
        const plain = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)]));
        const json = (): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;
        resolve({ status: response.statusCode ?? 0, headers: plain, setCookies, text, json });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function sendOverHttp2(
  url: string,
  headers: Readonly<Record<string, string>>,
  tls: ClientTls,
): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, unknown>>; readonly text: string }> {
  const { origin, host, pathname, search } = new URL(url);
  const session = connectHttp2(origin, { ...tls });
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request({ ":path": pathname + search, ":authority": host, ...headers });
    let status = 0;
    let answered: Record<string, unknown> = {};
    let text = "";
    stream.on("response", (head) => {
      status = Number(head[":status"]);
      answered = { ...head };
    });
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    stream.on("error", reject);
    stream.on("end", () => resolve({ status, headers: answered, text }));
  }).finally(() => session.destroy());
}
