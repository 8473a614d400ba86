/** How many upstreams a route may have, and what Maglev tables may be like, each by itself and all together. */
import { errorAt, type Report } from "../../settings/problem.ts";
import { parseUpstream, upstreamAddress } from "../../settings/values.ts";
import { maglevKey, maglevMembers } from "./maglev-members.ts";
import type { BalancingDoc } from "./settings.ts";

/** The smaller and the larger of the sizes that the paper on Maglev measures (NSDI 2016, §5.3). */
export const MAGLEV_TABLE_SIZE = 65_537;
export const MAX_MAGLEV_TABLE_SIZE = 655_373;

/** Places of all tables: 1,023 of the usual size, 64 MiB and 3 s of work while requests are served. */
export const MAX_MAGLEV_PLACES = 67_108_864;

/** Each request looks at all of a route: 1,000 take some 50 to 100 µs of the thread that serves everybody. */
export const MAX_UPSTREAMS = 1_000;

export type MaglevDoc = Partial<Pick<BalancingDoc, "load_balancing_policy" | "maglev_lb_config">> & {
  readonly to?: string | readonly string[];
};

/** @param route its sound members */
export function upstreamRules(route: Pick<MaglevDoc, "to">, report: Report): void {
  const { length } = toList(route);
  if (length > MAX_UPSTREAMS)
    report(errorAt(["to"], `has ${length} upstreams, must have at most ${MAX_UPSTREAMS}; put a balancer before them`));
}

/** With each configuration that anybody publishes the main thread looks at all upstreams once, at a microsecond each. */
export const MAX_UPSTREAMS_OF_SLICE = 50_000;

export function sliceUpstreamRules(
  routes: readonly { readonly upstreams: readonly unknown[] }[],
  report: Report,
): void {
  const all = routes.reduce((sum, { upstreams }) => sum + upstreams.length, 0);
  if (all > MAX_UPSTREAMS_OF_SLICE)
    report(errorAt(["routes"], `have ${all} upstreams, must have at most ${MAX_UPSTREAMS_OF_SLICE} in one slice`));
}

/** @param route its sound members */
export function maglevRules(route: MaglevDoc, report: Report): void {
  const { maglev_lb_config: config } = route;
  if (config === undefined && route.load_balancing_policy !== "maglev") return;
  if (config !== undefined && route.load_balancing_policy !== "maglev")
    report(errorAt(["maglev_lb_config"], 'needs "load_balancing_policy" to be "maglev" beside it'));
  const size = config?.table_size ?? MAGLEV_TABLE_SIZE;
  if (!isPrime(size))
    report(
      errorAt(["maglev_lb_config", "table_size"], `is ${size}, must be a prime number such as ${primeAbove(size)}`),
    );
  const upstreams = toList(route).length;
  if (route.load_balancing_policy === "maglev" && upstreams > size)
    report(errorAt(["to"], `has ${upstreams} upstreams, must have at most the ${size} of the table`));
}

/** @returns the first route whose table is one too many */
export function firstBeyondPlaces<T>(routes: Iterable<{ readonly doc: MaglevDoc; readonly owner: T }>): T | undefined {
  const tables = new Set<string>();
  let places = 0;
  for (const { doc, owner } of routes) {
    const to = toList(doc);
    if (doc.load_balancing_policy !== "maglev" || to.length < 2) continue;
    const size = doc.maglev_lb_config?.table_size ?? MAGLEV_TABLE_SIZE;
    const key = maglevKey(maglevMembers(to.flatMap(readMember)), size);
    if (tables.has(key)) continue;
    tables.add(key);
    places += size;
    if (places > MAX_MAGLEV_PLACES) return owner;
  }
  return undefined;
}

function toList({ to = [] }: MaglevDoc): readonly string[] {
  return typeof to === "string" ? [to] : to;
}

function readMember(text: string): readonly { readonly address: string; readonly weight: number }[] {
  const upstream = parseUpstream(text);
  if (!upstream.ok) return [];
  const { url, weight } = upstream.value;
  return [{ address: upstreamAddress(url), weight }];
}

function isPrime(size: number): boolean {
  if (size < 4) return size > 1;
  for (let divisor = 2; divisor * divisor <= size; divisor += 1) if (size % divisor === 0) return false;
  return true;
}

function primeAbove(size: number): number {
  let prime = size;
  while (!isPrime(prime)) prime += 1;
  return Math.min(prime, MAX_MAGLEV_TABLE_SIZE);
}
