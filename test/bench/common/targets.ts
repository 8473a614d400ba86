/**
 * What is compared: the whole gateway (a real `gateway run` with a real sign-in before the measurement), and others (see
 * peers/) as far as they are installed; all before one upstream.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { findPeers } from "../peers/peers.ts";
import { audienceBearer } from "../peers/token.ts";
import { type Child, startChild } from "./child.ts";
import { MANY_ROUTES, startGateway } from "./gateway.ts";
import { itemsRequest, mcpRequest, messageRequest } from "./requests.ts";

export interface Workload {
  readonly name: string;
  readonly title: string;
}

export interface Target {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** A line or more of headers that it takes for somebody; the plain ones pass on what the gateway gets. */
  readonly credential: string;
  /** The whole value of `Authorization` for MCP routes. */
  readonly bearer: string;
  /** Request bytes by workload; absent where the target cannot do it. */
  readonly requests: Readonly<Record<string, Buffer>>;
}

export interface Bench {
  readonly workloads: readonly Workload[];
  /** The gateway first. */
  readonly targets: readonly Target[];
  /** Of the upstream. */
  readonly upstreamPort: number;
  close(): Promise<void>;
}

const WORKLOADS: readonly Workload[] = [
  { name: "get", title: `GET, small JSON, session cookie, ${MANY_ROUTES} routes` },
  { name: "mcp-get", title: "GET on an MCP route, small JSON, External Token" },
  { name: "mcp-post", title: "POST tools/call of 4 KiB, External Token" },
];
/** Not a workload of the first table. */
export const DOWNLOAD = "download";

export interface TargetOptions {
  /** Beside the gateway, see peers/peers.ts. */
  readonly peers: readonly string[];
  /** Of the gateway, beside the usual ones, YAML. */
  readonly settings?: string;
  readonly say?: (line: string) => void;
}

export async function startTargets({ peers, settings, say }: TargetOptions): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const children: Child[] = [];
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    children.push(child);
    return child;
  };
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const child of children) await child.stop();
    for (const closer of closers) await closer();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const upstream = await start("rest", process.execPath, join(import.meta.dirname, "upstream.ts"));
    const origin = `http://127.0.0.1:${upstream.port}`;
    const gateway = await startGateway({
      directory,
      name: "gateway",
      upstream: origin,
      start,
      // What it warns of is meant here.
      logLevel: "error",
      ...(settings !== undefined && { settings }),
    });
    closers.push(gateway.close);
    const session = { credential: `cookie: ${gateway.cookie}`, bearer: gateway.bearer };
    const ownBearer = audienceBearer();
    const own = { credential: `authorization: ${ownBearer}`, bearer: ownBearer };
    const targets = [targetOf("gateway", gateway.child, session)];
    for (const peer of findPeers(peers, say)) {
      const child = await peer.start(directory, upstream.port, start);
      // The same bytes as the gateway gets, unless it verifies a token of its own.
      targets.push(targetOf(peer.name, child, peer.verifiesToken ? own : session));
    }
    return { workloads: WORKLOADS, targets, upstreamPort: upstream.port, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function targetOf(
  name: string,
  { pid, port }: Child,
  { credential, bearer }: { readonly credential: string; readonly bearer: string },
): Target {
  return {
    name,
    pid,
    port,
    credential,
    bearer,
    requests: {
      get: itemsRequest(port, credential),
      "mcp-get": mcpRequest(port, bearer),
      "mcp-post": messageRequest(port, bearer),
      [DOWNLOAD]: itemsRequest(port, credential, "/web/bytes/1048576"),
    },
  };
}
