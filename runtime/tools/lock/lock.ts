/**
 * `gateway tools lock` and `gateway tools diff`.
 *
 * Untrusted input: lists of servers, and the lock, which a proposed change may have edited. Promise: tokens go only to
 * the addresses of `--url`, never to servers that the lock names.
 */
import { readFile, rename, rm, writeFile } from "node:fs/promises";

import { LOCKED_KINDS } from "../../features/mcp/locked-items.ts";
import {
  formatToolLock,
  parseToolLock,
  type LockedTool,
  type ToolLockFile,
} from "../../features/mcp/tool-lock-file.ts";
import { attempting, GatewayError } from "../../shared/errors.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { keepClasses, PROPOSAL, proposalsFor } from "./propose-classes.ts";
import { listTools } from "./list-tools.ts";
import { compareTools, union } from "../../mcp/tool-locks/tool-changes.ts";
import { changesJson, formatChanges, hasChanges, type ServerChanges } from "../../mcp/tool-locks/change-words.ts";

export interface ToolsOptions {
  /** Addresses of MCP servers for users. */
  readonly url: readonly string[];
  readonly tokenFile: readonly string[];
  readonly json?: true;
}

export interface ToolsOutcome {
  readonly text: string;
  /** The servers' lists differ from the file before the command. */
  readonly differs: boolean;
}

/**
 * Writes the servers' present lists into the file; other servers in it are unchanged.
 *
 * @throws GatewayError `tools.…`, `fetch.…`: the file is unchanged then
 */
export async function lockTools(path: string, options: ToolsOptions): Promise<ToolsOutcome> {
  const before = await readLock(path, true);
  const urls = urlsOf(options);
  const tokens = await readTokens(options);
  const servers = new Map(before);
  const changes: ServerChanges[] = [];
  const proposals: string[] = [];
  for (const url of urls) {
    const locked = before.get(url)?.items ?? [];
    const listed = keepClasses(locked, await listFor(url, tokens));
    changes.push({ url, ...compareTools(locked, listed) });
    proposals.push(...proposalsFor(listed).map((line) => `  ${foreignText(url)}: ${line}`));
    servers.set(url, { kinds: new Set(LOCKED_KINDS), items: listed });
  }
  const differs = changes.some(hasChanges) || urls.some((url) => !before.has(url));
  const text = formatToolLock(servers);
  // Checked with the gateway's own reader before it is committed.
  const reading = parseToolLock(text);
  if (!reading.ok) throw new GatewayError("tools.lock", `Cannot write "${path}": the list ${reading.problem}`);
  await writeWhole(path, text);
  const rendered = render(changes, options, `written to ${path}`);
  return {
    text: options.json || proposals.length === 0 ? rendered : [rendered, PROPOSAL, ...proposals].join("\n"),
    differs,
  };
}

/** @throws GatewayError `tools.…`, `fetch.…` */
export async function diffTools(path: string, options: ToolsOptions): Promise<ToolsOutcome> {
  const lock = await readLock(path, false);
  const tokens = await readTokens(options);
  const changes: ServerChanges[] = [];
  const urls = urlsOf(options);
  for (const url of urls) {
    const locked = lock.get(url);
    if (!locked) throw new GatewayError("tools.lock", `Cannot compare "${url}": ${path} does not have it`);
    const listed = (await listFor(url, tokens)).filter(({ kind }) => locked.kinds.has(kind));
    const notLocked = LOCKED_KINDS.filter((kind) => !locked.kinds.has(kind));
    changes.push({ url, ...compareTools(locked.items, listed), notLocked });
  }
  const differs = changes.some(hasChanges);
  const others = [...lock.keys()].filter((url) => !urls.includes(url)).map((url) => foreignText(url));
  const notCompared = others.length === 0 ? "" : `, not compared (no --url): ${others.join(", ")}`;
  return { text: render(changes, options, `${differs ? "differs from" : "as in"} ${path}${notCompared}`), differs };
}

function render(changes: readonly ServerChanges[], { json }: ToolsOptions, end: string): string {
  return json ? changesJson(changes) : `${formatChanges(changes)}\n\n${end}`;
}

/** The combined lists of all users. A server that lists nothing is treated as broken. */
async function listFor(url: string, tokens: readonly string[]): Promise<readonly LockedTool[]> {
  const lists: (readonly LockedTool[])[] = [];
  for (const token of tokens) lists.push(await listTools({ url, token }));
  const all = union(lists);
  if (all.every(({ kind }) => kind === "instructions"))
    throw new GatewayError(
      "tools.list",
      `Cannot list the tools of "${url}": it lists none, which can also be an outage`,
    );
  return all;
}

function urlsOf({ url }: ToolsOptions): readonly string[] {
  return [...new Set(url.map(addressOf))];
}

/** Form of addresses in routes: no slash at the end, and none for a bare origin either. */
function addressOf(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new GatewayError(
      "tools.lock",
      `Cannot use the address ${JSON.stringify(text)}: it must begin with https:// or http://`,
    );
  const { origin, pathname, search } = new URL(text);
  return origin + pathname.replace(/\/$/, "") + search;
}

async function readTokens({ tokenFile }: ToolsOptions): Promise<readonly string[]> {
  return Promise.all(
    tokenFile.map((path) =>
      attempting("tools.token", `Cannot read the token in "${path}"`, async () => {
        const token = (await readFile(path, "utf8")).trim();
        if (!/^[\x21-\x7e]+$/.test(token)) throw new TypeError("it does not contain exactly one token");
        return token;
      }),
    ),
  );
}

async function readLock(path: string, mayBeAbsent: boolean): Promise<ToolLockFile> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (mayBeAbsent && (cause as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw new GatewayError("tools.lock", `Cannot read "${path}": ${(cause as NodeJS.ErrnoException).code ?? "error"}`, {
      cause,
    });
  }
  const reading = parseToolLock(text);
  if (!reading.ok) throw new GatewayError("tools.lock", `Cannot read "${path}": it ${reading.problem}`);
  return reading.servers;
}

/** Atomic: gateways may be watching the file. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await attempting("tools.lock", `Cannot write "${path}"`, async () => {
    try {
      await writeFile(temporary, text, { flag: "wx" });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  });
}
