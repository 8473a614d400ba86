/**
 * Administrators' blocks, the emergency brake: finds the block for a user, client, grant, agent run, route or tool.
 *
 * Pure. A block only removes access: it is checked before the route's policy, which cannot override it. Checked in
 * `proxy/decide.ts` (every request to a route), `proxy/forwarding/streams.ts` (open streams),
 * `identity/refuse-blocked.ts` (own pages and lists), sign-in, and the token and introspection endpoints. Loaded by
 * `identity/blocks.ts`.
 */
import { lowerAscii } from "../shared/ascii.ts";
import { timeText } from "../shared/clock.ts";
import { isNamedByEmail } from "../shared/user-id.ts";
import { refusedDecision } from "./evaluate.ts";
import type { ActorFacts, Decision, UserFacts } from "./facts.ts";

export const BLOCK_KINDS = ["user", "client", "grant", "run", "route", "tool"] as const;
export type BlockKind = (typeof BLOCK_KINDS)[number];

/** Target of a block. */
export interface BlockTarget {
  readonly kind: BlockKind;
  /** User id or email address; client id; grant id; run id; route key; tool name. */
  readonly name: string;
  /** The route's key, for a tool that is blocked only on this route. */
  readonly route?: string;
}

export interface Block extends BlockTarget {
  /** Set for a user named by address: other users with this address are also blocked. */
  readonly email?: string;
  /** Expiry in epoch seconds; absent = until unblocked. */
  readonly until?: number;
  /** The administrator's reason, or "". */
  readonly reason: string;
  /** Epoch seconds. */
  readonly since: number;
  /** The administrator, by the name that their host reports. */
  readonly by: string;
}

/** Known facts about a request; an absent fact matches no block. */
export interface BlockSubject {
  readonly user?: (Pick<UserFacts, "id" | "email"> & { readonly actor?: Pick<ActorFacts, "id" | "run"> }) | undefined;
  readonly clientId?: string | undefined;
  readonly grantId?: string | undefined;
  readonly routeKey?: string | undefined;
  /** Exactly as decoded from the message. */
  readonly tool?: string | undefined;
}

/** Blocks, indexed by target. */
export interface BlockIndex {
  /** 0 = no lookup needed. */
  readonly size: number;
  readonly all: readonly Block[];
  readonly users: ReadonlyMap<string, Block>;
  /** By lower-case address. */
  readonly emails: ReadonlyMap<string, Block>;
  readonly clients: ReadonlyMap<string, Block>;
  readonly grants: ReadonlyMap<string, Block>;
  readonly runs: ReadonlyMap<string, Block>;
  readonly routes: ReadonlyMap<string, Block>;
  /** Blocked on every route. */
  readonly tools: ReadonlyMap<string, Block>;
  /** Route key → tool → block. */
  readonly toolsOfRoutes: ReadonlyMap<string, ReadonlyMap<string, Block>>;
}

export function indexBlocks(blocks: readonly Block[]): BlockIndex {
  const of = (kind: BlockKind): readonly Block[] => blocks.filter((block) => block.kind === kind);
  const byName = (some: readonly Block[]): Map<string, Block> => new Map(some.map((block) => [block.name, block]));
  const toolsOfRoutes = new Map<string, Map<string, Block>>();
  for (const block of of("tool")) {
    if (block.route === undefined) continue;
    const known = toolsOfRoutes.get(block.route) ?? new Map<string, Block>();
    toolsOfRoutes.set(block.route, known.set(block.name, block));
  }
  return {
    size: blocks.length,
    all: blocks,
    users: byName(of("user")),
    emails: new Map(of("user").flatMap((block) => addressesOf(block).map((address) => [address, block] as const))),
    clients: byName(of("client")),
    grants: byName(of("grant")),
    runs: byName(of("run")),
    routes: byName(of("route")),
    tools: byName(of("tool").filter(({ route }) => route === undefined)),
    toolsOfRoutes,
  };
}

/**
 * The block that applies, widest first.
 *
 * @param now epoch seconds by this process's clock; an expired block does not apply
 */
export function findBlock(index: BlockIndex, subject: BlockSubject, now: number): Block | undefined {
  if (index.size === 0) return undefined;
  const { user, clientId, grantId, routeKey, tool } = subject;
  const isActive = (block: Block | undefined): block is Block =>
    block !== undefined && (block.until === undefined || block.until > now);
  let found = routeKey === undefined ? undefined : index.routes.get(routeKey);
  if (isActive(found)) return found;
  if (user !== undefined) {
    found = index.users.get(user.id);
    if (isActive(found)) return found;
    found = index.emails.size === 0 ? undefined : index.emails.get(fold(user.email));
    if (isActive(found)) return found;
    if (user.actor !== undefined) {
      found = index.users.get(user.actor.id);
      if (isActive(found)) return found;
      found = index.runs.get(user.actor.run);
      if (isActive(found)) return found;
    }
  }
  found = clientId === undefined ? undefined : index.clients.get(clientId);
  if (isActive(found)) return found;
  found = grantId === undefined ? undefined : index.grants.get(grantId);
  if (isActive(found)) return found;
  if (tool === undefined) return undefined;
  found = index.tools.get(tool);
  if (isActive(found)) return found;
  found = routeKey === undefined ? undefined : index.toolsOfRoutes.get(routeKey)?.get(tool);
  return isActive(found) ? found : undefined;
}

/** Whether tool names on this route must be plain: an upstream may fold another name into the blocked one. */
export function blocksTools(index: BlockIndex, routeKey: string): boolean {
  return index.tools.size > 0 || index.toolsOfRoutes.has(routeKey);
}

/** Reason of every decision by a block; a second reason names the kind of target: "blocked-user". */
export const BLOCKED = "blocked";

const DECISIONS: Readonly<Record<BlockKind, Decision>> = {
  user: refusedDecision(BLOCKED, "blocked-user"),
  client: refusedDecision(BLOCKED, "blocked-client"),
  grant: refusedDecision(BLOCKED, "blocked-grant"),
  run: refusedDecision(BLOCKED, "blocked-run"),
  route: refusedDecision(BLOCKED, "blocked-route"),
  tool: refusedDecision(BLOCKED, "blocked-tool", "mcp-tool-unauthorized"),
};

export function blockedDecision({ kind }: Block): Decision {
  return DECISIONS[kind];
}

export function isBlocked(decision: Decision): boolean {
  return !decision.allowed && decision.allowWhyFalse.includes(BLOCKED);
}

/** Folded addresses; at most one. */
export function addressesOf({ kind, name, email = name }: BlockTarget & Pick<Block, "email">): readonly string[] {
  return kind === "user" && isNamedByEmail(email) ? [fold(email)] : [];
}

/** A block as shown in `/status` and by `gateway blocks`. */
export function describeBlock({ kind, name, route, until, reason, since, by }: Block) {
  return {
    kind,
    name,
    route: route ?? "",
    until: until === undefined ? "" : timeText(until),
    reason,
    since: timeText(since),
    by,
  };
}

function fold(email: string): string {
  return lowerAscii(email);
}
