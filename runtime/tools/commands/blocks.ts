/**
 * `gateway block`, `gateway unblock`, `gateway blocks`: the incident brake. A block refuses what it names, whatever policies
 * say, until it is lifted or its time is over; nothing is ended, so that what was blocked goes on afterwards as it was.
 */
import { userInfo } from "node:os";

import { createPublishedSlices } from "../../control/bundle/published.ts";
import { parseDuration } from "../../settings/values.ts";
import { GatewayError } from "../../shared/errors.ts";
import { listGrants } from "../../oauth/server/list-access.ts";
import { lowerAscii } from "../../shared/ascii.ts";
import {
  addressesOf,
  BLOCK_KINDS,
  describeBlock,
  type Block,
  type BlockKind,
  type BlockTarget,
} from "../../policy/blocks.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { isNamedByEmail } from "../../shared/user-id.ts";
import { liftBlock, putBlock, readBlocks } from "../../identity/block-records.ts";
import { listSessions } from "../../identity/users/list-sessions.ts";
import { listServiceAccounts, serviceAccountUser } from "../../identity/tokens/service-accounts.ts";
import { emailsOf, withAdministration, type Administration } from "./administration.ts";
import { printRows, timeText } from "./output.ts";

export interface UnblockOptions {
  readonly config: string;
  /** Key of the one route on which a tool is meant. */
  readonly route?: string;
}

export interface BlockOptions extends UnblockOptions {
  /** A time with its zone, or a duration from now. */
  readonly until?: string;
  readonly reason?: string;
}

const MAX_NAME_CHARACTERS = 2048;
const MAX_REASON_CHARACTERS = 500;

/** @returns exit code */
export function block(kind: string, name: string, options: BlockOptions): Promise<number> {
  const target = readTarget(kind, name, options);
  const { reason = "" } = options;
  if (reason.length > MAX_REASON_CHARACTERS)
    throw wrong("reason", `has ${reason.length} characters, must be at most ${MAX_REASON_CHARACTERS}`);
  return withAdministration(options.config, async (administration) => {
    const { clock } = administration;
    const until = options.until === undefined ? undefined : readUntil(options.until, clock);
    const said = { reason, since: epochSeconds(clock), by: userName() };
    const end = until === undefined ? "until it is lifted" : `until ${timeText(until)}`;
    for (const named of await resolveUsers(administration, target)) {
      const unknown = await unknownText(administration, named);
      await putBlock(administration, { ...named, ...said, ...(until === undefined ? {} : { until }) });
      await administration.record({ action: "block", target: textOf(named), before: null, after: end, reason });
      if (unknown !== undefined) console.error(`Note: ${unknown}; it is blocked all the same`);
      console.log(`${textOf(named)} blocked ${end}, in every process within 2 s`);
    }
    return 0;
  });
}

/** @returns exit code; 1 when that is not blocked */
export function unblock(kind: string, name: string, options: UnblockOptions): Promise<number> {
  const target = readTarget(kind, name, options);
  return withAdministration(options.config, async (administration) => {
    // An address may be blocked as such, from when nobody was known by it, as the users that it belongs to, and as those to
    // whom it belonged when they were blocked.
    const { blocks } = await readBlocks(administration.store);
    const [address] = addressesOf(target);
    const byAddress = address === undefined ? [] : blocks.filter((each) => addressesOf(each).includes(address));
    const named = [target, ...(await resolveUsers(administration, target)), ...byAddress];
    const targets = new Map(named.map((each) => [each.name, each]));
    let lifted = 0;
    for (const each of targets.values()) {
      if (!(await liftBlock(administration, each))) continue;
      lifted += 1;
      await administration.record({ action: "unblock", target: textOf(each), before: "blocked", after: null });
    }
    if (lifted === 0) {
      console.error(`${textOf(target)} is not blocked`);
      return 1;
    }
    console.log(`${textOf(target)} no longer blocked, in every process within 2 s`);
    return 0;
  });
}

/** @returns exit code */
export function printBlocks(options: { readonly config: string; readonly json?: boolean }): Promise<number> {
  return withAdministration(options.config, async ({ store, clock }) => {
    const now = epochSeconds(clock);
    const { blocks } = await readBlocks(store);
    const inForce = blocks.filter(({ until }) => until === undefined || until > now);
    const users = inForce.filter(({ kind, name }) => kind === "user" && !isNamedByEmail(name)).map(({ name }) => name);
    const emails = await emailsOf(store, users);
    const rows = inForce
      .toSorted((a, b) => a.since - b.since)
      .map((each) => ({ ...describeBlock(each), email: emailOf(each, emails) }));
    printRows(rows, options.json === true, "nothing is blocked");
    return 0;
  });
}

function emailOf({ kind, name }: Block, emails: ReadonlyMap<string, string>): string {
  if (kind !== "user") return "";
  return isNamedByEmail(name) ? name : (emails.get(name) ?? "");
}

function readTarget(kind: string, name: string, { route }: UnblockOptions): BlockTarget {
  if (!isKind(kind)) throw wrong("what", `is ${JSON.stringify(kind)}, must be one of ${BLOCK_KINDS.join(", ")}`);
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  if (name === "" || name.length > MAX_NAME_CHARACTERS || /[\x00-\x1f\x7f]/.test(name))
    throw wrong("name", `must be 1 to ${MAX_NAME_CHARACTERS} characters without control characters`);
  for (const key of [route, kind === "route" ? name : undefined]) {
    if (key !== undefined && !/^[^/]+\/./.test(key))
      throw wrong("route", `is ${JSON.stringify(key)}, must be a route's key, "<owner>/<name>"`);
  }
  if (route !== undefined && kind !== "tool") throw wrong("--route", "is for tools alone");
  return { kind, name, ...(route === undefined ? {} : { route }) };
}

function isKind(kind: string): kind is BlockKind {
  return BLOCK_KINDS.some((known) => known === kind);
}

/** @returns epoch seconds */
function readUntil(text: string, clock: Clock): number {
  const duration = parseDuration(text);
  const now = epochSeconds(clock);
  // Without a zone it would be another moment on another machine.
  const isTime = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(text);
  const until = duration.ok
    ? now + Math.floor(duration.value / 1000)
    : isTime
      ? Math.floor(Date.parse(text) / 1000)
      : NaN;
  if (until > now) return until;
  throw wrong(
    "--until",
    `is ${JSON.stringify(text)}, must be in the future: a duration such as "2h", or a time such as "2026-11-20T18:00:00Z"`,
  );
}

/**
 * Users are blocked by id, which they keep when their address changes, and with it by the address, which other accounts
 * and machines may have; by address alone where nobody is known by it.
 */
async function resolveUsers({ store }: Administration, target: BlockTarget): Promise<readonly NamedTarget[]> {
  if (target.kind !== "user" || !isNamedByEmail(target.name)) return [target];
  const owners = [...(await listSessions(store)), ...(await listGrants(store, {}))].map(({ userId }) => userId);
  const wanted = lowerAscii(target.name);
  const found = [...(await emailsOf(store, owners))].filter(([, email]) => lowerAscii(email) === wanted);
  if (found.length === 0) return [target];
  return found.map(([id]) => ({ ...target, name: id, email: target.name }));
}

type NamedTarget = BlockTarget & Pick<Block, "email">;

/** What an administrator may have mistyped: nothing of this name is known here. */
async function unknownText(administration: Administration, target: BlockTarget): Promise<string | undefined> {
  const { kind, name, route } = target;
  const isKnown = await {
    user: () => isKnownUser(administration, name),
    client: async () => name.startsWith("https://") || (await administration.store.get(`client:${name}`)) !== undefined,
    grant: async () => (await administration.store.get(`grant:${name}`)) !== undefined,
    route: () => isKnownRoute(administration, name),
    tool: () => (route === undefined ? Promise.resolve(true) : isKnownRoute(administration, route)),
  }[kind]();
  if (isKnown) return undefined;
  return kind === "tool" ? `no route ${JSON.stringify(route)} is known here` : `no ${textOf(target)} is known here`;
}

async function isKnownUser({ store }: Administration, name: string): Promise<boolean> {
  if (await store.get(`identity:${name}`)) return true;
  return (await listServiceAccounts(store)).some(({ value }) => serviceAccountUser(value).id === name);
}

/** In the files, or published. */
async function isKnownRoute({ store, config }: Administration, key: string): Promise<boolean> {
  if (config.routes.some((route) => route.key === key)) return true;
  const { slices } = await createPublishedSlices({ store }).read();
  return slices.some(({ owner, text }) => {
    if (!key.startsWith(`${owner}/`)) return false;
    try {
      const { routes } = JSON.parse(text) as { routes?: object };
      return Object.hasOwn(routes ?? {}, key.slice(owner.length + 1));
    } catch {
      return false;
    }
  });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user need not have a name.
    return "";
  }
}

function textOf({ kind, name, route }: BlockTarget): string {
  return `${kind} ${JSON.stringify(name)}${route === undefined ? "" : ` on route ${JSON.stringify(route)}`}`;
}

function wrong(what: string, text: string): GatewayError {
  return new GatewayError("commands.block", `Cannot read what to block: ${what} ${text}`);
}
