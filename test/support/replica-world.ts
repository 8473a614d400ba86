/**
 * Replicas over one store, SQLite or PostgreSQL, that come and go while users use them: for flows about events that a store
 * survives (rotations, restores, updates). Replicas run in this process; one of another version has a separate process
 * (`runGateway`).
 *
 * All are called by the same names, one after another, as behind a load balancer without affinity.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { pino } from "pino";
import { Client } from "pg";
import { parse, stringify } from "yaml";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { startGateway } from "../../runtime/gateway.ts";
import { createBrowser, createSend, type Browser, type Send } from "./browser.ts";
import { TEST_SHARED_SECRET } from "./config.ts";
import { clientProof, signInClient, type Registration, type SignedInClient } from "./oauth-client.ts";
import type { Postgres } from "./postgres.ts";
import { ADMIN_TOKEN } from "./run-gateway.ts";
import { startUpstreamService, type UpstreamService } from "./upstream-service.ts";

/** Public address; nothing listens there. */
const PUBLIC = "http://localhost:8080";
const PAGES = "http://127.0.0.1:8080";

export interface Replica {
  readonly port: number;
  /** Everything its log said. */
  log(): string;
  close(): Promise<void>;
}

export interface Person {
  readonly email: string;
  readonly browser: Browser;
  readonly client: SignedInClient;
}

export interface ReplicaWorld {
  /** Directory of all files; the main configuration file there is gateway.yaml. */
  readonly directory: string;
  readonly storageUrl: string;
  readonly authorizeLog: string;
  readonly service: UpstreamService;
  /** Resource of an MCP server to which each user connects. */
  readonly resource: string;
  /** Replicas in the order in which they are called. */
  readonly replicas: Replica[];
  /** Sets the main configuration file, for replicas that start. */
  configure(more?: Readonly<Record<string, unknown>>): void;
  /** Its current content. */
  configured(): Readonly<Record<string, unknown>>;
  /** Starts a replica, and asks it from now on. */
  start(): Promise<Replica>;
  /** Closes a replica and starts another in its place. */
  restart(index: number): Promise<void>;
  /** To each replica in turn. */
  readonly send: Send;
  /** To one of them. */
  sendTo(replica: Replica): Send;
  /** Signs in, consents and connects: session, grant, connection. With an earlier registration it must be connected already. */
  signIn(email: string, registration?: Registration): Promise<Person>;
  /** A user's state at a replica, without changing anything. */
  ask(person: Person, send?: Send): Promise<{ readonly call: number; readonly isSignedIn: boolean }>;
  /** Presents a refresh token to a replica, and discards the response. */
  refreshAt(person: Person, send: Send): ReturnType<Send>;
  /** Uses session, access token and connection, and refreshes, at every replica. @throws Error when anything is rejected */
  goesOn(person: Person): Promise<void>;
}

export async function startReplicaWorld(
  storageUrl: string | undefined,
  onTestFinished: (end: () => Promise<void>) => void,
): Promise<ReplicaWorld> {
  const directory = mkdtempSync(join(tmpdir(), "gateway-replicas-"));
  const service = await startUpstreamService();
  service.clients.set("static-client", {
    secret: "static-secret",
    redirectUris: [`${PUBLIC}/.gateway/mcp/client/oauth/callback`],
  });
  const provider = await startIdentityProvider({
    users: ["alice", "bob", "carol"].map((each) => ({
      id: each,
      email: `${each}@example.com`,
      name: each,
      groups: [],
    })),
    clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${PAGES}/.gateway/callback`] }],
  });
  const authorizeLog = join(directory, "authorize.log");
  const settings = {
    address: "127.0.0.1:0",
    admin_address: "127.0.0.1:0",
    admin_token: ADMIN_TOKEN,
    insecure_server: true,
    development: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: storageUrl ?? `sqlite:${join(directory, "gateway.db")}`,
    authorize_log: authorizeLog,
    drain_timeout: "2s",
    runtime_flags: { mcp: true },
    mcp_allowed_as_metadata_domains: ["127.0.0.1"],
    authenticate_service_url: PAGES,
    idp_provider_url: provider.issuer,
    idp_client_id: "gateway",
    idp_client_secret: "secret",
    routes: [
      {
        name: "static",
        from: PUBLIC,
        prefix: "/static",
        to: service.origin,
        mcp: {
          server: {
            path: "/mcp",
            upstream_oauth2: {
              client_id: "static-client",
              client_secret: "static-secret",
              endpoint: { auth_url: `${service.origin}/authorize`, token_url: `${service.origin}/token` },
              scopes: ["read", "write"],
            },
          },
        },
        policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
      },
    ],
  };
  const replicas: Replica[] = [];
  onTestFinished(async () => {
    await Promise.all(replicas.map((each) => each.close()));
    await provider.close();
    await service.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const resource = `${PUBLIC}/static/mcp`;
  const configure: ReplicaWorld["configure"] = (more = {}) =>
    writeFileSync(join(directory, "gateway.yaml"), stringify({ ...settings, ...more }));
  configure();

  const open = async (): Promise<Replica> => {
    let text = "";
    const log = pino({ level: "debug" }, { write: (line: string) => void (text += line) });
    const gateway = await startGateway({ config: directory, log });
    return { port: gateway.port, log: () => text, close: () => gateway.close() };
  };
  const sendTo =
    ({ port }: Replica): Send =>
    (request) =>
      createSend([PUBLIC, PAGES].includes(new URL(request.url).origin) ? { via: port } : {})(request);
  let sent = 0;
  const send: Send = (request) => {
    const replica = replicas[sent++ % replicas.length];
    if (!replica) throw new Error("No replica runs");
    return sendTo(replica)(request);
  };
  const call = async ({ client }: Person, by: Send): ReturnType<Send> =>
    by({
      method: "POST",
      url: resource,
      headers: {
        authorization: `Bearer ${client.tokens.access_token}`,
        "content-type": "application/json",
        accept: "application/json",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
  const isSignedIn = async ({ browser, email }: Person, by: Send): Promise<boolean> => {
    const headers = { cookie: browser.cookieHeader(new URL(PAGES).hostname), accept: "text/html" };
    return (await by({ method: "GET", url: `${PAGES}/.gateway/user`, headers })).text.includes(email);
  };

  return {
    directory,
    storageUrl: settings.storage_url,
    authorizeLog,
    service,
    resource,
    replicas,
    configure,
    configured: () => parse(readFileSync(join(directory, "gateway.yaml"), "utf8")) as Record<string, unknown>,
    async start() {
      const replica = await open();
      replicas.push(replica);
      return replica;
    },
    async restart(index) {
      await replicas[index]?.close();
      replicas[index] = await open();
    },
    send,
    sendTo,
    async signIn(email, registration) {
      const browser = createBrowser(send);
      const way = registration ? { registration } : { press: "Connect" };
      return { email, browser, client: await signInClient({ resource, send, browser, user: email, ...way }) };
    },
    async ask(person, by = send) {
      return { call: (await call(person, by)).status, isSignedIn: await isSignedIn(person, by) };
    },
    async refreshAt({ client }, by) {
      const { token_endpoint: url } = await client.oauth.discover();
      const refresh = { grant_type: "refresh_token", refresh_token: client.tokens.refresh_token ?? "" };
      return by({
        method: "POST",
        url,
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ ...refresh, ...clientProof(client.registration) }).toString(),
      });
    },
    async goesOn(person) {
      for (const replica of replicas) {
        const by = sendTo(replica);
        const answer = await call(person, by);
        if (answer.status !== 200 || !answer.text.includes('"authorized":true')) {
          throw new Error(`A call was answered ${answer.status} ${answer.text}`);
        }
        if (!(await isSignedIn(person, by))) throw new Error(`The session of ${person.email} has ended`);
        await person.client.refresh();
        // Each kind at the other replica than the one before.
        sent += 1;
      }
    },
  };
}

/** An empty database on a test's server. @returns its URL */
export async function createDatabase(server: Postgres, name: string): Promise<string> {
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}
