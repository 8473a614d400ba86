/**
 * The member that a resource belongs to: the one of `resource_prefixes`, else the first that lists its URI, else the one whose
 * template fits best, else the one that lists the skill above it. A URI goes to no member that does not claim it.
 *
 * Untrusted input: the members' lists, the caller's URIs. Promises: what is known of one caller is used for that caller only;
 * whatever URIs a caller asks for, members are asked for their lists once at a time and not again within a wait.
 */
import type { CompiledRoute } from "../../../config/compiled.ts";
import { memoryLimit } from "../../../http/admission/memory.ts";
import type { MessageJson } from "../../../mcp/federation/json.ts";
import { readAppUri } from "../../../mcp/federation/names.ts";
import { fitsTemplate } from "../../../mcp/federation/templates.ts";
import { bindingText } from "../../../mcp/mcp-sessions.ts";
import type { Clock } from "../../../shared/clock.ts";
import { FairCache } from "../../lists/fair-cache.ts";
import { bindingOf } from "../../announced-address.ts";
import type { RequestContext } from "../../request-context.ts";
import type { AskingClient, Collected } from "./collect.ts";
import { claimantOf, MERGED, type MergedMethod } from "./lists.ts";

interface Claims {
  readonly route: CompiledRoute;
  /** URI → prefix. */
  readonly uris: ReadonlyMap<string, string>;
  readonly templates: readonly { readonly prefix: string; readonly template: string }[];
  /** Text that files of a skill begin with. */
  readonly skills: readonly { readonly prefix: string; readonly start: string }[];
  readonly madeMs: number;
  /** Lists of some member are missing. */
  readonly isPartial: boolean;
  /** Estimated memory. */
  readonly bytes: number;
}

interface Known {
  readonly claims: Claims;
  /** A resource that was created meanwhile is found after this time. */
  readonly waitMs: number;
}

/** "none": no member claims it; "busy": it is not known, and too much is asked at once. */
export type Owner = "none" | "busy" | { readonly prefix: string };

const KEEP_MS = 60_000;
/** Doubled each time that the members were asked in vain. */
const [FIRST_WAIT_MS, MAX_WAIT_MS] = [2_000, 16_000];
/** Clients of one user for which members are asked at a time. */
const MAX_ASKING = 2;
/** Memory of what is kept for all callers, and for one user. */
const MAX_BYTES = 64 * 1024 * 1024;
const PART_OF_MEMORY = 32;
const PART_OF_USER = 4;
/** Estimated memory of a text without its characters. */
const TEXT_BYTES = 64;

export type Collect = (caller: RequestContext, method: MergedMethod, client: AskingClient) => Promise<Collected>;

export interface OwnersDeps {
  readonly clock: Clock;
  readonly collect: Collect;
}

export class Owners {
  readonly #deps: OwnersDeps;
  readonly #known: FairCache<Known>;
  /** By caller; undefined: its client left before the end. */
  readonly #asking = new Map<string, Promise<Claims | undefined>>();
  /** By user. */
  readonly #ofUser = new Map<string, number>();

  constructor(deps: OwnersDeps) {
    this.#deps = deps;
    const bytes = Math.min(MAX_BYTES, memoryLimit() / PART_OF_MEMORY);
    this.#known = new FairCache(bytes, bytes / PART_OF_USER);
  }

  async find(caller: RequestContext, client: AskingClient, uri: string): Promise<Owner> {
    const app = readAppUri(uri);
    if (app) return { prefix: app.prefix };
    const { route } = caller.prepared;
    const configured = route.mcp?.kind === "server" ? claimantOf(route.mcp.resourcePrefixes, uri) : undefined;
    if (configured !== undefined) return { prefix: configured };
    const key = keyOf(caller);
    const kept = this.#known.get(key);
    const nowMs = this.#deps.clock.now();
    const known = kept?.claims.route === route && nowMs < kept.claims.madeMs + KEEP_MS ? kept : undefined;
    const found = known && ownerIn(known.claims, uri);
    if (found !== undefined) return { prefix: found };
    if (known && nowMs < known.claims.madeMs + known.waitMs) return "none";
    const claims = await this.#ask(key, caller, client, known);
    if (claims === "busy") return claims;
    const prefix = ownerIn(claims, uri);
    return prefix === undefined ? "none" : { prefix };
  }

  /** One request of a caller asks the members, and others wait for it. */
  async #ask(
    key: string,
    caller: RequestContext,
    client: AskingClient,
    known: Known | undefined,
  ): Promise<Claims | "busy"> {
    for (let asking = this.#asking.get(key); asking !== undefined; asking = this.#asking.get(key)) {
      const claims = await asking;
      if (claims !== undefined) return claims;
    }
    const userId = caller.principal?.user.id ?? "";
    const ofUser = this.#ofUser.get(userId) ?? 0;
    if (ofUser >= MAX_ASKING) return "busy";
    this.#ofUser.set(userId, ofUser + 1);
    let isGone = false;
    caller.exchange.onClose(() => (isGone = true));
    const claims = claimsOf(caller, client, this.#deps).finally(() => {
      this.#asking.delete(key);
      const left = (this.#ofUser.get(userId) ?? 1) - 1;
      if (left === 0) this.#ofUser.delete(userId);
      else this.#ofUser.set(userId, left);
    });
    // The end of a client aborts what it asks members, which says nothing about their resources.
    const complete = claims.then((made) => (isGone ? undefined : made));
    complete.catch(() => {});
    this.#asking.set(key, complete);
    const made = await complete;
    if (made === undefined) return claims;
    const waitMs = known && !made.isPartial ? Math.min(2 * known.waitMs, MAX_WAIT_MS) : FIRST_WAIT_MS;
    this.#known.set(key, { claims: made, waitMs }, made.bytes, [userId]);
    return made;
  }
}

function keyOf(caller: RequestContext): string {
  // Groups and claims of a user change with the version.
  return `${caller.principal?.user.version} ${bindingText(bindingOf(caller))}`;
}

async function claimsOf(caller: RequestContext, client: AskingClient, { collect, clock }: OwnersDeps): Promise<Claims> {
  const methods = ["resources/list", "resources/templates/list", "skills/list"] as const;
  let isPartial = false;
  const [listed = [], templated = [], skilled = []] = await Promise.all(
    methods.map(async (method) => {
      const { lists, gaps } = await collect(caller, method, client);
      isPartial ||= gaps.some(({ reason }) => reason !== "denied");
      return lists.flatMap(({ prefix, items }) => items.map((item) => ({ prefix, text: textOf(item, method) })));
    }),
  );
  const uris = new Map<string, string>();
  for (const { prefix, text } of [...listed, ...skilled]) if (!uris.has(text)) uris.set(text, prefix);
  let bytes = 0;
  for (const each of [listed, templated, skilled]) for (const { text } of each) bytes += 2 * text.length + TEXT_BYTES;
  return {
    route: caller.prepared.route,
    uris,
    templates: templated.map(({ prefix, text }) => ({ prefix, template: text })),
    skills: skilled.map(({ prefix, text }) => ({ prefix, start: text.slice(0, text.lastIndexOf("/") + 1) })),
    // After the answers: a member that hangs must not be asked again for each URI.
    madeMs: clock.now(),
    isPartial,
    bytes,
  };
}

function textOf(item: MessageJson, method: MergedMethod): string {
  const text = item[MERGED[method].name];
  return typeof text === "string" ? text : "";
}

function ownerIn({ uris, templates, skills }: Claims, uri: string): string | undefined {
  const listed = uris.get(uri);
  if (listed !== undefined) return listed;
  let best = -1;
  let owner: string | undefined;
  for (const { prefix, template } of templates) {
    // A completion names the template itself.
    const fit = template === uri ? uri.length : (fitsTemplate(template, uri) ?? -1);
    if (fit > best) [best, owner] = [fit, prefix];
  }
  if (owner !== undefined) return owner;
  const directory = `${uri}/`;
  return skills.find(({ start }) => start !== "" && (uri.startsWith(start) || start.startsWith(directory)))?.prefix;
}
