/** The parents of a route: to which listeners it attaches, and with which hosts. */
import { canonicalPattern, covers } from "../hosts/host-claims.ts";
import { MOST_PAIRS, type TlsEntry } from "../hosts/tls.ts";
import { type LoadBalancerAddress, namespaceOf } from "../objects.ts";
import type { GatewaysReading, GatewayState, ListenerState } from "./listeners.ts";
import {
  condition,
  type Condition,
  GATEWAY_GROUP,
  type GatewayRoute,
  type ParentRef,
  type GatewayRouteKind,
} from "./objects.ts";

/** A reference to a Gateway of ours. */
export interface RouteAttachment {
  readonly ref: ParentRef;
  /** "namespace/name". */
  readonly gateway: string;
  /** Listeners that took it; [] when it was not accepted. */
  readonly listeners: readonly { readonly state: ListenerState; readonly hosts: ReadonlyMap<string, string> }[];
  readonly accepted: Condition;
}

export function attach(
  kind: GatewayRouteKind,
  route: GatewayRoute,
  gateways: GatewaysReading["gateways"],
): readonly RouteAttachment[] {
  const patterns = new Map<string, string>();
  return (route.spec?.parentRefs ?? []).flatMap((ref) => {
    const { group = GATEWAY_GROUP, kind: parent = "Gateway", namespace = namespaceOf(route), name } = ref;
    const key = `${namespace}/${name}`;
    const gateway = group === GATEWAY_GROUP && parent === "Gateway" ? gateways.get(key) : undefined;
    return gateway ? [attachTo(ref, key, gateway, kind, route, patterns)] : [];
  });
}

function attachTo(
  ref: ParentRef,
  key: string,
  { listeners, addresses }: GatewayState,
  kind: GatewayRouteKind,
  route: GatewayRoute,
  patterns: Patterns,
): RouteAttachment {
  const refuse = (reason: string, message: string): RouteAttachment => ({
    ref,
    gateway: key,
    listeners: [],
    accepted: condition("Accepted", false, reason, message),
  });
  const named = listeners.filter(
    ({ listener }) =>
      (ref.sectionName === undefined || listener.name === ref.sectionName) &&
      (ref.port === undefined || listener.port === ref.port),
  );
  const usable = named.filter(({ isUsable }) => isUsable);
  if (usable.length === 0) {
    const state = named.length === 0 ? "has no such listener" : "has no usable listener of this name and port";
    return refuse("NoMatchingParent", `Gateway ${key} ${state}`);
  }
  const namespace = namespaceOf(route);
  const allowing = usable.filter((each) => each.kinds.includes(kind) && each.allows(namespace));
  if (allowing.length === 0)
    return refuse("NotAllowedByListeners", `no listener allows ${kind} of namespace ${namespace}`);
  const found = allowing.flatMap((state) => {
    const hosts = commonHosts(state.listener.hostname, route, { addresses, patterns });
    return hosts === undefined ? [] : [{ state, hosts }];
  });
  if (found.length === 0) return refuse("NoMatchingListenerHostname", "no listener has a host of this route");
  if (found.every(({ hosts }) => hosts.size === 0)) {
    const message = "names no host, neither does the listener, and the Gateway has no address";
    return refuse("UnsupportedValue", message);
  }
  return { ref, gateway: key, listeners: found, accepted: condition("Accepted", true, "Accepted") };
}

/**
 * Hosts of a route on a listener → their location in the route; undefined if they have none in common. Where neither names
 * one, the addresses of the Gateway: a route belongs to a host.
 */
function commonHosts(
  listener: string | undefined,
  { spec }: GatewayRoute,
  { addresses, patterns }: { readonly addresses: readonly LoadBalancerAddress[]; readonly patterns: Patterns },
): ReadonlyMap<string, string> | undefined {
  const names = (spec?.hostnames ?? []).filter((name) => name !== "");
  const found = new Map<string, string>();
  if (names.length === 0) {
    const hosts = listener === undefined || listener === "" ? addresses.map(hostOf) : [listener];
    for (const host of hosts) if (host !== "") found.set(host, "spec.parentRefs");
    return found;
  }
  for (const [index, name] of names.entries()) {
    const host = listener === undefined || listener === "" ? name : narrower(listener, name, patterns);
    if (host !== undefined && !found.has(host)) found.set(host, `spec.hostnames[${index}]`);
  }
  return found.size === 0 ? undefined : found;
}

function hostOf({ ip, hostname = "" }: LoadBalancerAddress): string {
  return ip === undefined ? hostname : ip.includes(":") ? `[${ip}]` : ip;
}

/** Hosts as written → their canonical form, for one route: listeners × hosts are many. */
type Patterns = Map<string, string>;

function patternOf(host: string, patterns: Patterns): string {
  let pattern = patterns.get(host);
  if (pattern === undefined) patterns.set(host, (pattern = canonicalPattern(host)));
  return pattern;
}

/** The one of two patterns that the other one covers. */
function narrower(one: string, other: string, patterns: Patterns): string | undefined {
  const [a, b] = [patternOf(one, patterns), patternOf(other, patterns)];
  if (a === b || covers(b, a)) return a;
  return covers(a, b) ? b : undefined;
}

/** Certificates of the listeners, for the hosts that they bring. */
export function tlsOf(attachments: readonly RouteAttachment[]): readonly TlsEntry[] {
  const found = new Map<string, Map<string, string>>();
  let left = MOST_PAIRS;
  for (const { state, hosts } of attachments.flatMap(({ listeners }) => listeners))
    for (const secret of state.certificates) {
      if (left <= 0) break;
      // Repeated ones count as well: they cost the same.
      left -= hosts.size;
      const ofSecret = found.get(secret) ?? new Map<string, string>();
      found.set(secret, ofSecret);
      for (const [host, path] of hosts) ofSecret.set(host, path);
    }
  return [...found].map(([secret, hosts]) => ({ secret, path: "spec.parentRefs", hosts }));
}
