/**
 * Blocking and unblocking, by command and in the console: the target is parsed strictly and looked up, and each change
 * is recorded.
 */
import type { AdminAction } from "../audit/action-record.ts";
import { liftBlock, putBlock, readBlocks } from "../identity/block-records.ts";
import { emailsOf } from "../identity/users/emails-of.ts";
import { idsOfEmail } from "../identity/users/ids-of-email.ts";
import { listSessions } from "../identity/users/list-sessions.ts";
import { listGrants } from "../oauth/server/list-access.ts";
import { addressesOf, BLOCK_KINDS, type Block, type BlockTarget } from "../policy/blocks.ts";
import { parseDuration } from "../settings/values.ts";
import { lowerAscii } from "../shared/ascii.ts";
import { epochSeconds, timeText, type Clock } from "../shared/clock.ts";
import { GatewayError } from "../shared/errors.ts";
import { isNamedByEmail } from "../shared/user-id.ts";
import type { Store } from "../store/store.ts";

export interface BlockingDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** For the audit. */
  readonly record: (action: Omit<AdminAction, "by">) => void | Promise<void>;
}

export type NamedTarget = BlockTarget & Pick<Block, "email">;

const MAX_NAME_CHARACTERS = 2048;
const MAX_REASON_CHARACTERS = 500;

/** @throws GatewayError `commands.block` */
export function readTarget(kind: string, name: string, route: string | undefined): BlockTarget {
  const known = BLOCK_KINDS.find((each) => each === kind);
  if (known === undefined) throw wrong("what", `is ${JSON.stringify(kind)}, must be one of ${BLOCK_KINDS.join(", ")}`);
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  if (name === "" || name.length > MAX_NAME_CHARACTERS || /[\x00-\x1f\x7f]/.test(name))
    throw wrong("name", `must be 1 to ${MAX_NAME_CHARACTERS} characters without control characters`);
  for (const key of [route, kind === "route" ? name : undefined]) {
    if (key !== undefined && !/^[^/]+\/./.test(key))
      throw wrong("route", `is ${JSON.stringify(key)}, must be a route's key, "<owner>/<name>"`);
  }
  if (route !== undefined && kind !== "tool") throw wrong("--route", "is only for tools");
  return { kind: known, name, ...(route === undefined ? {} : { route }) };
}

/** @returns epoch seconds @throws GatewayError `commands.block` */
export function readUntil(text: string, clock: Clock): number {
  const duration = parseDuration(text);
  const now = epochSeconds(clock);
  // Without a zone it would be another moment on another host.
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

/** @throws GatewayError `commands.block` */
export function readReason(reason: string): string {
  if (reason.length <= MAX_REASON_CHARACTERS) return reason;
  throw wrong("reason", `has ${reason.length} characters, must be at most ${MAX_REASON_CHARACTERS}`);
}

export interface NewBlock {
  readonly reason: string;
  readonly by: string;
  /** Epoch seconds. */
  readonly until: number | undefined;
}

/** @returns all present blocks: for a user named by address, those of all users who have it */
export async function blockTarget(
  deps: BlockingDeps,
  target: BlockTarget,
  { reason, by, until }: NewBlock,
): Promise<readonly NamedTarget[]> {
  const details = { reason, since: epochSeconds(deps.clock), by, ...(until === undefined ? {} : { until }) };
  const { blocks } = await readBlocks(deps.store);
  const all = await resolveUsers(deps, target);
  for (const named of all) {
    const before = findState(blocks, named);
    await putBlock(deps, { ...named, ...details });
    await deps.record({ action: "block", target: textOf(named), before, after: endText(until), reason });
  }
  return all;
}

/** @returns the lifted blocks */
export async function unblockTarget(deps: BlockingDeps, target: BlockTarget): Promise<readonly BlockTarget[]> {
  // An address may be blocked as such (before any user had it), through its current users, or through the users who had
  // it when they were blocked.
  const { blocks } = await readBlocks(deps.store);
  const [address] = addressesOf(target);
  const byAddress = address === undefined ? [] : blocks.filter((each) => addressesOf(each).includes(address));
  const named = [target, ...(await resolveUsers(deps, target)), ...byAddress];
  const lifted: BlockTarget[] = [];
  for (const each of new Map(named.map((one) => [one.name, one])).values()) {
    if (!(await liftBlock(deps, each))) continue;
    lifted.push(each);
    await deps.record({ action: "unblock", target: textOf(each), before: findState(blocks, each), after: null });
  }
  return lifted;
}

/**
 * Users are blocked by ID, which stays when their address changes, and also by the address, which other accounts may
 * share. If no user is known by the address, only it is blocked.
 */
async function resolveUsers({ store }: BlockingDeps, target: BlockTarget): Promise<readonly NamedTarget[]> {
  if (target.kind !== "user" || !isNamedByEmail(target.name)) return [target];
  const ids = await idsOfEmail(store, target.name);
  if (ids.length > 0) return ids.map((id) => ({ ...target, name: id, email: target.name }));
  // Older versions wrote no tag for this lookup: checks all users with access.
  const owners = [...(await listSessions(store)), ...(await listGrants(store, {}))].map(({ userId }) => userId);
  const address = lowerAscii(target.name);
  const found = [...(await emailsOf(store, owners))].filter(([, email]) => lowerAscii(email) === address);
  if (found.length === 0) return [target];
  return found.map(([id]) => ({ ...target, name: id, email: target.name }));
}

function findState(blocks: readonly Block[], target: BlockTarget): string | null {
  const found = blocks.find((each) => textOf(each) === textOf(target));
  return found ? endText(found.until) : null;
}

/** "until 2026-11-20T18:00:00Z" */
export function endText(until: number | undefined): string {
  if (until === undefined) return "until unblocked";
  return `until ${timeText(until)}`;
}

export function textOf({ kind, name, route }: BlockTarget): string {
  return `${kind} ${JSON.stringify(name)}${route === undefined ? "" : ` on route ${JSON.stringify(route)}`}`;
}

function wrong(what: string, text: string): GatewayError {
  return new GatewayError("commands.block", `Cannot create block: ${what} ${text}`);
}
