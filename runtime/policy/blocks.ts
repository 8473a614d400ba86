/**
 * The incident brake, as a decision: what administrators have blocked, found by who calls where with what.
 *
 * Pure. A block only ever takes away: it is looked for before a route's policy is asked, and no policy answers it. Where it
 * is asked: `proxy/decide.ts` (every request to a route), `proxy/forwarding/streams.ts` (what is open), `identity/refuse-blocked.ts` (our
 * own pages and lists), sign-in, and the token and introspection endpoints. Where it comes from: `identity/blocks.ts`.
 */
import { lowerAscii } from "../shared/ascii.ts";
import { isNamedByEmail } from "../shared/user-id.ts";
import { refusedDecision } from "./evaluate.ts";
import type { Decision } from "./facts.ts";

export const BLOCK_KINDS = ["user", "client", "grant", "route", "tool"] as const;
export type BlockKind = (typeof BLOCK_KINDS)[number];

/** What is blocked. */
export interface BlockTarget {
  readonly kind: BlockKind;
  /** User id or email address; client id; grant id; route key; tool name. */
  readonly name: string;
  /** Of a tool, when it is blocked on this route alone: the route's key. */
  readonly route?: string;
}

export interface Block extends BlockTarget {
  /** Of a user who was named by address: others may have it too, and are blocked with them. */
  readonly email?: string;
  /** Epoch seconds of its end; absent = until it is lifted. */
  readonly until?: number;
  /** The administrator's words; "" when there are none. */
  readonly reason: string;
  /** Epoch seconds. */
  readonly since: number;
  /** Who said so, as their machine calls them. */
  readonly by: string;
}

/** What is known of who calls and what for; what is absent is not blocked by it. */
export interface BlockSubject {
  readonly user?: { readonly id: string; readonly email: string } | undefined;
  readonly clientId?: string | undefined;
  readonly grantId?: string | undefined;
  readonly routeKey?: string | undefined;
  /** Exactly as decoded from the message. */
  readonly tool?: string | undefined;
}

/** Blocks by what they are found by. */
export interface BlockIndex {
  /** 0 = nothing has to be looked up. */
  readonly size: number;
  readonly all: readonly Block[];
  readonly users: ReadonlyMap<string, Block>;
  /** By address in lower case. */
  readonly emails: ReadonlyMap<string, Block>;
  readonly clients: ReadonlyMap<string, Block>;
  readonly grants: ReadonlyMap<string, Block>;
  readonly routes: ReadonlyMap<string, Block>;
  /** On every route. */
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
    routes: byName(of("route")),
    tools: byName(of("tool").filter(({ route }) => route === undefined)),
    toolsOfRoutes,
  };
}

/**
 * The block that stands in the way, the widest first.
 *
 * @param now epoch seconds by this process's clock: a block whose time is over stands in nobody's way
 */
export function findBlock(index: BlockIndex, subject: BlockSubject, now: number): Block | undefined {
  if (index.size === 0) return undefined;
  const { user, clientId, grantId, routeKey, tool } = subject;
  const isInForce = (block: Block | undefined): block is Block =>
    block !== undefined && (block.until === undefined || block.until > now);
  let found = routeKey === undefined ? undefined : index.routes.get(routeKey);
  if (isInForce(found)) return found;
  if (user !== undefined) {
    found = index.users.get(user.id);
    if (isInForce(found)) return found;
    found = index.emails.size === 0 ? undefined : index.emails.get(fold(user.email));
    if (isInForce(found)) return found;
  }
  found = clientId === undefined ? undefined : index.clients.get(clientId);
  if (isInForce(found)) return found;
  found = grantId === undefined ? undefined : index.grants.get(grantId);
  if (isInForce(found)) return found;
  if (tool === undefined) return undefined;
  found = index.tools.get(tool);
  if (isInForce(found)) return found;
  found = routeKey === undefined ? undefined : index.toolsOfRoutes.get(routeKey)?.get(tool);
  return isInForce(found) ? found : undefined;
}

/** Whether tool names on this route have to be plain ones: an upstream may fold another one into the one that is blocked. */
export function blocksTools(index: BlockIndex, routeKey: string): boolean {
  return index.tools.size > 0 || index.toolsOfRoutes.has(routeKey);
}

/** Reason of every decision that a block has made; a second one says what is blocked: "blocked-user". */
export const BLOCKED = "blocked";

const DECISIONS: Readonly<Record<BlockKind, Decision>> = {
  user: refusedDecision(BLOCKED, "blocked-user"),
  client: refusedDecision(BLOCKED, "blocked-client"),
  grant: refusedDecision(BLOCKED, "blocked-grant"),
  route: refusedDecision(BLOCKED, "blocked-route"),
  tool: refusedDecision(BLOCKED, "blocked-tool", "mcp-tool-unauthorized"),
};

export function blockedDecision({ kind }: Block): Decision {
  return DECISIONS[kind];
}

export function isBlocked(decision: Decision): boolean {
  return !decision.allowed && decision.allowWhyFalse.includes(BLOCKED);
}

/** Folded; at most one. */
export function addressesOf({ kind, name, email = name }: BlockTarget & Pick<Block, "email">): readonly string[] {
  return kind === "user" && isNamedByEmail(email) ? [fold(email)] : [];
}

/** As it is shown: in `/status`, and by `gateway blocks`. */
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

/** "2026-11-20T18:00:00Z" */
function timeText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace(".000Z", "Z");
}

function fold(email: string): string {
  return lowerAscii(email);
}
