/**
 * Assigns each host to a namespace: that of the oldest Ingress that names it, or those that the operator lists.
 *
 * Untrusted input: hosts that Ingresses name. Promise: requests for one host go to Ingresses of one namespace, unless the
 * operator lists several. A wildcard covers hosts at any depth, and takes the paths that the routes of a host below it leave
 * (features/routing/apply-host-routes.ts). So if one host covers the other, as for two equal ones, the older keeps its claim
 * and the newer is rejected, whichever is the wildcard. A claim does not depend on whether the Ingress can be served: its
 * author's mistake must not give the host to others.
 */
import { canonicalHost } from "../../../settings/domains.ts";
import { quote } from "../../../settings/problem.ts";
import { append } from "../../../shared/linear/append.ts";

/** Host or wildcard, canonical → namespaces whose Ingresses may name it and hosts below it, and share it. */
export type HostList = ReadonlyMap<string, readonly string[]>;

export interface HostClaim {
  /** As written in the Ingress. */
  readonly host: string;
  readonly namespace: string;
  /** "Ingress shop/web", "HTTPRoute shop/web". */
  readonly label: string;
}

export interface HostClaims {
  /** Call it in the order of the Ingresses' age. @returns the reason for a rejection; undefined if accepted */
  claim(claimed: HostClaim): string | undefined;
  /** True if the namespace claimed exactly this host. */
  holds(host: string, namespace: string): boolean;
}

interface Kept extends HostClaim {
  /** Canonical. */
  readonly key: string;
}

export function createHostClaims(list: HostList = new Map()): HostClaims {
  const byKey = new Map<string, Kept[]>();
  /**
   * Domain → oldest claims of two namespaces for hosts and wildcards below it: at least one of them is another namespace's.
   */
  const below = new Map<string, Kept[]>();
  /** A namespace's repeated claims for a host are stored once. */
  const known = new Set<string>();
  /** Domain → entries of the list below it, needed for each wildcard. */
  const listedBelow = new Map<string, Entry[]>();
  for (const entry of list) for (const domain of ancestors(entry[0])) append(listedBelow, domain, entry);

  return {
    claim(claimed) {
      const key = canonicalPattern(claimed.host);
      const labels = labelsIn(key);
      if (labels > MAX_LABELS) {
        return `is ${quote(claimed.host)}, which has ${labels} labels, must have at most ${MAX_LABELS}`;
      }
      if (known.has(claimKey(claimed.namespace, key))) return undefined;
      const listed = entriesFor(key, list, listedBelow).find(
        ([, namespaces]) => !namespaces.includes(claimed.namespace),
      );
      if (listed) {
        const [pattern, namespaces] = listed;
        const whose = namespaces.length === 0 ? "no namespace" : namespaces.join(", ");
        return `is ${quote(claimed.host)}, but the operator gives ${quote(pattern)} to ${whose}, not to namespace ${claimed.namespace}`;
      }
      const other = overlapping(key).find(
        (kept) => kept.namespace !== claimed.namespace && entryOf(narrower(key, kept.key), list) === undefined,
      );
      if (other) return belongsTo(claimed, other, key);
      keep({ ...claimed, key });
      return undefined;
    },
    holds: (host, namespace) => known.has(claimKey(namespace, canonicalPattern(host))),
  };

  /** Claims of the same host, of wildcards above it, and of hosts below it. */
  function overlapping(key: string): readonly Kept[] {
    const above = ancestors(key).flatMap((domain) => byKey.get(`*.${domain}`) ?? []);
    const inside = key.startsWith("*.") ? (below.get(key.slice(2)) ?? []) : [];
    return [...(byKey.get(key) ?? []), ...above, ...inside];
  }

  function keep(kept: Kept): void {
    const claim = claimKey(kept.namespace, kept.key);
    if (known.has(claim)) return;
    known.add(claim);
    append(byKey, kept.key, kept);
    // Hosts in the operator's list conflict with no claim.
    if (entryOf(kept.key, list) !== undefined) return;
    for (const domain of ancestors(kept.key)) addOfTwo(below, domain, kept);
  }
}

function claimKey(namespace: string, key: string): string {
  return `${namespace} ${key}`;
}

/** A third namespace is not stored: a claim conflicts with at least one of the first two. */
function addOfTwo(index: Map<string, Kept[]>, at: string, kept: Kept): void {
  const [first, second] = index.get(at) ?? [];
  if (!second && first?.namespace !== kept.namespace) append(index, at, kept);
}

function belongsTo({ host }: HostClaim, other: Kept, key: string): string {
  const oldest = `its ${other.label} is the oldest that names it`;
  if (key === other.key) return `is ${quote(host)}, which belongs to namespace ${other.namespace}: ${oldest}`;
  const relation = other.key.startsWith("*.") && narrower(key, other.key) === key ? "lies below" : "covers";
  return `is ${quote(host)}, which ${relation} ${quote(other.host)} of namespace ${other.namespace}: ${oldest}`;
}

/**
 * Entries of the list for a host: its own or the nearest wildcard's, and for a wildcard also those of all hosts that it would
 * cover.
 */
function entriesFor(key: string, list: HostList, below: ReadonlyMap<string, readonly Entry[]>): readonly Entry[] {
  const own = entryOf(key, list);
  const found = own === undefined ? [] : [own];
  if (!key.startsWith("*.")) return found;
  return [...found, ...(below.get(key.slice(2)) ?? [])];
}

/** A pattern of the operator's list with its namespaces. */
type Entry = readonly [pattern: string, namespaces: readonly string[]];

function entryOf(key: string, list: HostList): Entry | undefined {
  for (const pattern of [key, ...ancestors(key).map((domain) => `*.${domain}`)]) {
    const namespaces = list.get(pattern);
    if (namespaces) return [pattern, namespaces];
  }
  return undefined;
}

/** The one of two overlapping hosts that the other one covers; the first when neither does. */
function narrower(one: string, other: string): string {
  return covers(one, other) ? other : one;
}

/** Whether a canonical wildcard covers another canonical host or wildcard. */
export function covers(wide: string, host: string): boolean {
  return wide.startsWith("*.") && host.endsWith(wide.slice(1)) && host !== wide;
}

/** Far more than in practice. Each label is an entry, and 4,000 hosts of 120 labels took half a minute. */
const MAX_LABELS = 32;

function labelsIn(key: string): number {
  let labels = 1;
  for (let at = key.indexOf("."); at !== -1; at = key.indexOf(".", at + 1)) labels++;
  return labels;
}

/** Domains above a host or wildcard, the nearest first: for "*.a.example.com" "example.com", not "a.…". */
function ancestors(key: string): readonly string[] {
  const found: string[] = [];
  const from = key.startsWith("*.") ? 2 : 0;
  for (let at = key.indexOf(".", from); at !== -1; at = key.indexOf(".", at + 1)) found.push(key.slice(at + 1));
  return found;
}

/** Two spellings of one host are one claim. An invalid host is rejected with its route, and compared unchanged here. */
export function canonicalPattern(host: string): string {
  const bare = host.startsWith("*.") ? host.slice(2) : host;
  const canonical = canonicalHost(bare) ?? bare.toLowerCase();
  return host.startsWith("*.") ? `*.${canonical}` : canonical;
}
