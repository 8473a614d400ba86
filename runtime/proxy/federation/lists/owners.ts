/**
 * The member that a resource belongs to: the one of `resource_prefixes`, else the first that lists its URI, else the one whose
 * template fits best, else the one that lists the skill above it. A URI goes to no member that does not claim it.
 *
 * Untrusted input: the members' lists. Promise: what is known of one caller is used for that caller only.
 */
import type { CompiledRoute } from "../../../config/compiled.ts";
import type { MessageJson } from "../../../mcp/federation/json.ts";
import { fitsTemplate } from "../../../mcp/federation/templates.ts";
import { bindingText } from "../../../mcp/mcp-sessions.ts";
import { BoundedCache, type Visited } from "../../../shared/cache.ts";
import type { Clock } from "../../../shared/clock.ts";
import { bindingOf } from "../../announced-address.ts";
import type { RequestContext } from "../../request-context.ts";
import type { Collected } from "./collect.ts";
import { claimantOf, MERGED, type MergedMethod } from "./lists.ts";

interface Claims extends Visited {
  readonly route: CompiledRoute;
  /** URI → prefix. */
  readonly uris: ReadonlyMap<string, string>;
  readonly templates: readonly { readonly prefix: string; readonly template: string }[];
  /** Text that files of a skill begin with. */
  readonly skills: readonly { readonly prefix: string; readonly start: string }[];
  readonly madeMs: number;
  /** In UTF-16 units. */
  readonly size: number;
}

const KEEP_MS = 60_000;
/** A resource that was created meanwhile is found after this time. */
const ASK_AGAIN_MS = 2_000;
const MAX_CALLERS = 1_000;
/** Longer ones are asked for each time. */
const MAX_KEPT = 524_288;

export type Collect = (caller: RequestContext, method: MergedMethod) => Promise<Collected>;

export class Owners {
  readonly #clock: Clock;
  readonly #known = new BoundedCache<Claims>(MAX_CALLERS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns prefix of the member; undefined: none claims it */
  async find(caller: RequestContext, uri: string, collect: Collect): Promise<string | undefined> {
    const key = bindingText(bindingOf(caller));
    const { route } = caller.prepared;
    const configured = route.mcp?.kind === "server" ? claimantOf(route.mcp.resourcePrefixes, uri) : undefined;
    if (configured !== undefined) return configured;
    const nowMs = this.#clock.now();
    const known = this.#known.get(key);
    const isFresh = known !== undefined && known.route === route && nowMs < known.madeMs + KEEP_MS;
    const found = isFresh ? ownerIn(known, uri) : undefined;
    if (found !== undefined || (isFresh && nowMs < known.madeMs + ASK_AGAIN_MS)) return found;
    const claims = await claimsOf(caller, collect, this.#clock);
    if (claims.size <= MAX_KEPT) this.#known.set(key, claims);
    else this.#known.delete(key);
    return ownerIn(claims, uri);
  }
}

async function claimsOf(caller: RequestContext, collect: Collect, clock: Clock): Promise<Claims> {
  const methods = ["resources/list", "resources/templates/list", "skills/list"] as const;
  const [listed, templated, skilled] = await Promise.all(
    methods.map(async (method) => {
      const { lists } = await collect(caller, method);
      return lists.flatMap(({ prefix, items }) => items.map((item) => ({ prefix, text: textOf(item, method) })));
    }),
  );
  const uris = new Map<string, string>();
  for (const { prefix, text } of [...(listed ?? []), ...(skilled ?? [])]) if (!uris.has(text)) uris.set(text, prefix);
  return {
    visited: false,
    route: caller.prepared.route,
    uris,
    templates: (templated ?? []).map(({ prefix, text }) => ({ prefix, template: text })),
    skills: (skilled ?? []).map(({ prefix, text }) => ({ prefix, start: text.slice(0, text.lastIndexOf("/") + 1) })),
    // After the answers: a member that hangs must not be asked again for each URI.
    madeMs: clock.now(),
    size: [listed, templated, skilled].flatMap((each) => each ?? []).reduce((sum, { text }) => sum + text.length, 0),
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
