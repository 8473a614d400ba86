/** Puts the world of a soak together: store, provider, upstreams, gateways, and what actors reach them by. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Agent, buildConnector, fetch as undiciFetch } from "undici";

import {
  type IdentityProvider,
  startIdentityProvider,
  type DemoUser,
} from "../../../examples/demo/identity-provider.ts";
import { createAdminClient } from "../../support/admin-client.ts";
import { createSend } from "../../support/browser.ts";
import { freePort } from "../../support/ports.ts";
import { createRandom } from "../../support/random.ts";
import { ADMIN_TOKEN } from "../../support/run-gateway.ts";
import { startUpstreamService, type UpstreamService } from "../../support/upstream-service.ts";
import { bootOf, LIFETIMES, publicAddresses, SERVICE_CLIENT } from "./configuration.ts";
import { type Database, openPostgres, openSqlite } from "./database.ts";
import { makeGateway, type SoakGateway } from "./gateways.ts";
import type { Replica, StoreKind, World } from "./types.ts";
import { startMcpUpstream, startWebUpstream, type RunningUpstream } from "./upstreams.ts";

/** The world as faults see it. */
export interface SoakWorld extends World {
  readonly replicas: readonly SoakGateway[];
  readonly database: Database;
  /** Of all files that are of no use afterwards. */
  readonly directory: string;
  /** Records that came to the receiver of `record_sinks`. */
  sunk(): number;
  /** Says that traffic must end. */
  end(): void;
  /** Ends every process and removes every file. */
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly store: StoreKind;
  readonly replicas: number;
  readonly workers: number;
  readonly seed: number;
  readonly program: string;
  /** The store is to have a standby, where that is possible. */
  readonly wantsStandby: boolean;
  /** Gateways get clocks of their own by this library. */
  readonly faketime: string | undefined;
  /** Where logs are kept; absent: nowhere. */
  readonly keep: string | undefined;
}

const USERS = 24;
const COMMAND_WITHIN_MS = 60_000;

/** Resolves once all replicas serve. @throws Error when something does not start; nothing is left behind then */
export async function openWorld(options: WorldOptions): Promise<SoakWorld> {
  const directory = mkdtempSync(join(tmpdir(), "gateform-soak-"));
  const logs = options.keep ?? directory;
  mkdirSync(logs, { recursive: true });
  const closing: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const each of closing.splice(0).toReversed()) await Promise.resolve(each()).catch(() => {});
  };
  const own = <T extends { close(): unknown }>(part: T): T => {
    closing.push(() => part.close());
    return part;
  };
  const began = performance.now();
  const now = (): number => performance.now() - began;
  const ended = new AbortController();

  try {
    const addresses = publicAddresses(await freePort());
    const service: UpstreamService = own(await startUpstreamService());
    const callback = `${addresses.origin}/.gateway/mcp/client/oauth/callback`;
    service.clients.set(SERVICE_CLIENT.id, { secret: SERVICE_CLIENT.secret, redirectUris: [callback] });
    service.switches.accessTokenSeconds = LIFETIMES.serviceTokenSeconds;
    const provider: IdentityProvider = own(
      await startIdentityProvider({
        users: soakUsers(),
        clients: [
          {
            client_id: "gateway",
            client_secret: "secret",
            redirect_uris: [`${addresses.pages}/.gateway/callback`],
          },
        ],
      }),
    );
    const web: RunningUpstream = own(await startWebUpstream(now));
    const mcp: RunningUpstream = own(await startMcpUpstream(now));
    const receiver = await startReceiver();
    own(receiver);
    const database: Database = own(
      options.store === "sqlite"
        ? openSqlite(directory)
        : await openPostgres(directory, options.replicas, options.wantsStandby),
    );
    const replicas: SoakGateway[] = [];
    for (let index = 0; index < options.replicas; index += 1) {
      const gateway = await makeGateway({
        name: `r${index + 1}`,
        root: directory,
        program: options.program,
        workers: options.workers,
        faketime: options.faketime,
        boot: bootOf({
          addresses,
          storageUrl: database.url(index),
          provider: provider.issuer,
          web: web.origin,
          mcp: mcp.origin,
          service: service.origin,
          receiver: receiver.origin,
        }),
        logFile: join(logs, `r${index + 1}.log`),
      });
      closing.push(() => gateway.close());
      replicas.push(gateway);
    }
    // The first one alone: it makes the store's tables.
    await replicas[0]?.start();
    await Promise.all(replicas.slice(1).map((each) => each.start()));
    closing.push(() => Promise.all(replicas.map((each) => each.stop())));
    const agents = new Map<string, Agent>();
    closing.push(() => Promise.all([...agents.values()].map((agent) => agent.destroy())));
    const hosts = new Set([addresses.pages, addresses.origin, ...Object.values(addresses.published)]);

    return {
      store: options.store,
      storageUrl: database.url(0),
      replicas,
      addresses,
      users: provider.users,
      provider,
      upstreams: { web, mcp },
      service,
      lifetimes: LIFETIMES,
      database,
      directory,
      pick: (random) => replicas[Math.floor(random() * replicas.length)] as Replica,
      send: ({ port }) => {
        const [direct, there] = [createSend(), createSend({ via: port })];
        return (request) => (hosts.has(new URL(request.url).origin) ? there : direct)(request);
      },
      fetch: (replica) => {
        const agent = agents.get(replica.name) ?? agentTo(replica, hosts);
        agents.set(replica.name, agent);
        return ((input: string | URL, init?: object) =>
          undiciFetch(input, { ...init, dispatcher: agent })) as unknown as typeof fetch;
      },
      admin: ({ adminOrigin }) => createAdminClient(adminOrigin, ADMIN_TOKEN),
      command: (replica, args) => runCommand(options.program, replica, args),
      random: (name) => createRandom(`${options.seed} ${name}`),
      now,
      ended: ended.signal,
      sunk: () => receiver.records(),
      end: () => ended.abort(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function soakUsers(): DemoUser[] {
  const users = Array.from({ length: USERS }, (_, index) => ({
    id: `u-${index + 1}`,
    email: `user${index + 1}@example.com`,
    name: `User ${index + 1}`,
    groups: index < 2 ? ["admins"] : [],
  }));
  return [...users, { id: "u-outsider", email: "outsider@other.example", name: "Outsider", groups: [] }];
}

/** Connects to the replica where a public name is asked for. */
function agentTo({ port }: Replica, hosts: ReadonlySet<string>): Agent {
  const plain = buildConnector({ timeout: 10_000 });
  return new Agent({
    connect: (target, callback) => {
      const origin = `${target.protocol}//${target.hostname}:${target.port}`;
      plain(hosts.has(origin) ? { ...target, hostname: "127.0.0.1", port: String(port) } : target, callback);
    },
  });
}

function runCommand(
  program: string,
  { directory }: Replica,
  args: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args, "--config", directory], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: COMMAND_WITHIN_MS,
      killSignal: "SIGKILL",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    child.once("error", (error) => resolve({ code: -1, output: String(error) }));
    child.once("close", (code) => resolve({ code: code ?? -1, output }));
  });
}

/** Takes what `record_sinks` send, and counts it. */
async function startReceiver(): Promise<{
  readonly origin: string;
  records(): number;
  close(): Promise<void>;
}> {
  let records = 0;
  const server: Server = createServer((request, response) => {
    let lines = 0;
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) lines += 1;
    });
    request.on("end", () => {
      records += lines;
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records: () => records,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
