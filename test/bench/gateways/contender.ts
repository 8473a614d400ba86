/** What a gateway of the comparison is: where it comes from, what it does, how it starts, and what its users send. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import type { IdentityProvider } from "../../../examples/demo/identity-provider.ts";
import { visit } from "../../../examples/demo/person.ts";
import { createBrowser } from "../../support/browser.ts";
import { startChild } from "../common/child.ts";
import { untilListening } from "../peers/peer.ts";
import type { Issuer } from "./issuer.ts";
import type { Program } from "./programs.ts";

/** How a gateway is started: plainly, with 1,000 routes, or with TLS and HTTP/2. */
export type Variant = "plain" | "routes" | "tls";
export type WorkName = "get" | "mcp" | "tool" | "list" | "sse" | "routes" | "http2";
/** Alice is allowed, Bob is not. */
export type User = "alice" | "bob";

export const PROVIDER_CLIENT = { client_id: "comparison", client_secret: "comparison-secret" };

export interface Setup {
  /** Its own. */
  readonly directory: string;
  readonly port: number;
  /** "http://localhost:20001", "https://…" with TLS. */
  readonly origin: string;
  /** Port. */
  readonly upstream: number;
  /** Hosts of the other routes. */
  readonly hosts: readonly string[];
  readonly tls: { readonly certificateFile: string; readonly keyFile: string } | undefined;
  readonly issuer: Issuer;
  /** Where users sign in, for gateways with sessions. */
  readonly provider: IdentityProvider;
  /** Of its container, where it is in one. */
  readonly memoryBytes: number | undefined;
  readonly program: (name: Program) => Promise<string>;
  /** Starts a process on the contender's core and waits until it listens. */
  readonly start: (command: readonly string[], options?: StartOptions) => Promise<void>;
}

export interface StartOptions {
  /** Default: the setup's. */
  readonly port?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly patienceMs?: number;
}

/** Lines of headers. */
export interface Credentials {
  readonly web: string;
  readonly mcp: string;
  /** For the path with a rule on the tool's name. */
  readonly tool: string;
}

export interface Running {
  readonly credentials: (user: User) => Promise<Credentials>;
  /** Files, each of which gets a line for each request. */
  readonly records: readonly string[];
  /** Default: the setup's. */
  readonly port?: number;
  /** Default: /mcp, /tool. */
  readonly paths?: { readonly mcp: string; readonly tool: string };
  /** Of a tool of the upstream, where it has another one. */
  readonly toolName?: (name: string) => string;
}

export interface Contender {
  readonly name: string;
  readonly title: string;
  /** Programs it needs, whose versions are printed. */
  readonly programs: readonly Program[];
  /** Who is asked: what it takes as credential and how it checks it. */
  readonly identity: string;
  readonly policy: string;
  readonly record: string;
  /** What it does more or less than the others, and how it is configured where that matters. */
  readonly notes: string;
  /** Works it cannot do, with the reason. */
  readonly cannot: Partial<Readonly<Record<WorkName, string>>>;
  /** It checks no user: every request gets the response. */
  readonly isOpen?: true;
  /** It shows the tools that the policy denies. */
  readonly showsAllTools?: true;
  /** It is compiled while it runs, and needs some seconds of load before it is what it will be. */
  readonly isCompiledLate?: true;
  /** Measured apart from the others, with fewer rounds. */
  readonly isSlow?: true;
  start(setup: Setup): Promise<Running>;
}

export const NO_TOOLS = "it reads no message bodies";
const MCP_ONLY = "it serves MCP only";
export const NOT_IN_MCP_SERVERS = {
  get: MCP_ONLY,
  sse: "it is configured for JSON responses, not for streams",
  routes: MCP_ONLY,
  http2: MCP_ONLY,
};

/** The one who starts processes for a contender; `stop()` ends them all. */
export function createStarter(name: string, directory: string, port: number) {
  const children: { readonly pid: number; stop(): Promise<void> }[] = [];
  const start: Setup["start"] = async (command, { port: own = port, env = {}, patienceMs } = {}) => {
    await mkdir(directory, { recursive: true });
    const out = join(directory, `process-${children.length}`);
    const script = `echo ${own}; out=$1; shift; exec "$@" > $out.out 2> $out.errors`;
    children.push(await startChild("target", "/bin/sh", ["-c", script, "sh", out, ...command], env));
    try {
      await untilListening(name, own, patienceMs, children.at(-1)?.pid);
    } catch (error) {
      const said = await readFile(`${out}.errors`, "utf8").catch(() => "");
      const printed = await readFile(`${out}.out`, "utf8").catch(() => "");
      throw new Error(`${(error as Error).message}: ${(said || printed).trim().slice(-600)}`, { cause: error });
    }
  };
  return {
    start,
    pids: () => children.map(({ pid }) => pid),
    stop: async (): Promise<void> => {
      for (const child of children.toReversed()) await child.stop();
    },
  };
}

/** Signs in in a browser. @returns the line with the gateway's cookies; without any where the sign-in was refused */
export async function sessionOf(origin: string, user: User, path = "/web/items"): Promise<string> {
  const browser = createBrowser();
  await visit(browser, `${origin}${path}`, { user: `${user}@example.com` });
  const cookie = browser.cookieHeader("localhost");
  return cookie === "" ? NO_CREDENTIAL : `cookie: ${cookie}`;
}

/** The same on all paths. */
export function everywhere(line: string): Credentials {
  return { web: line, mcp: line, tool: line };
}

/** A header that means nothing. */
export const NO_CREDENTIAL = "x-none: 1";

/** For gateways that check no user. */
export const withoutCredentials: Running["credentials"] = () => Promise.resolve(everywhere(NO_CREDENTIAL));

/** A bearer JWT wherever one is needed. */
export function bearerOf({ issuer }: Setup): Running["credentials"] {
  return (user) => Promise.resolve(everywhere(`authorization: Bearer ${issuer.tokenOf(user)}`));
}

/** A session for pages, a bearer JWT for MCP. @param path where a sign-in starts */
export function sessionAndBearerOf(setup: Setup, path?: string): Running["credentials"] {
  return async (user) => ({ ...(await bearerOf(setup)(user)), web: await sessionOf(setup.origin, user, path) });
}
