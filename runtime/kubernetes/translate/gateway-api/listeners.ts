/** GatewayClasses of this controller, their Gateways, and the state of each listener. */
import { append } from "../../../shared/linear/append.ts";
import { canonicalPattern } from "../hosts/host-claims.ts";
import { pairProblem } from "../hosts/tls.ts";
import { CONTROLLER_NAME } from "../ingress-class.ts";
import { keyOf, type LoadBalancerAddress, namespaceOf, type Secret } from "../objects.ts";
import {
  condition,
  type Condition,
  type GatewayObject,
  GATEWAY_GROUP,
  type GatewayApiObjects,
  type GatewayClass,
  type LabelSelector,
  type ReferenceGrant,
  type GatewayListener,
  ROUTE_KINDS,
  type GatewayRouteKind,
} from "./objects.ts";

export interface ListenerState {
  readonly listener: GatewayListener;
  /** Kinds of routes that it takes. */
  readonly kinds: readonly GatewayRouteKind[];
  readonly conditions: readonly Condition[];
  /** Routes may attach. */
  readonly isUsable: boolean;
  /** "namespace/name" of existing Secrets of its certificates. */
  readonly certificates: readonly string[];
  /** Routes of this namespace may attach. */
  readonly allows: (namespace: string) => boolean;
}

export interface GatewayState {
  readonly gateway: GatewayObject;
  readonly className: string;
  readonly listeners: readonly ListenerState[];
  /** "namespace/name" of Secrets that it may read, existing or not. */
  readonly secrets: readonly string[];
  /** Addresses of the gateway: the ones that it names, or all. */
  readonly addresses: readonly LoadBalancerAddress[];
}

export interface GatewayContext {
  /** By "namespace/name". */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Secrets are not read. */
  readonly ignoreTls: boolean;
  /** Addresses of the gateway. */
  readonly addresses: readonly LoadBalancerAddress[];
}

export interface GatewaysReading {
  readonly classes: readonly GatewayClass[];
  /** By "namespace/name". */
  readonly gateways: ReadonlyMap<string, GatewayState>;
  readonly isGranted: IsGranted;
}

export function readGateways(objects: GatewayApiObjects, context: GatewayContext): GatewaysReading {
  const classes = objects.gatewayClasses.filter(({ spec }) => spec?.controllerName === CONTROLLER_NAME);
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  const isGranted = createGrants(objects.referenceGrants);
  const labels = new Map(objects.namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  const gateways = objects.gateways
    .filter(({ spec }) => names.has(spec?.gatewayClassName ?? ""))
    .map((gateway) => [keyOf(gateway), readGateway(gateway, { ...context, isGranted, labels })] as const);
  return { classes, gateways: new Map(gateways), isGranted };
}

interface ListenerContext extends GatewayContext {
  readonly isGranted: IsGranted;
  readonly labels: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

function readGateway(gateway: GatewayObject, context: ListenerContext): GatewayState {
  const listeners = gateway.spec?.listeners ?? [];
  const conflicts = conflictsOf(listeners);
  const secrets = new Set<string>();
  const states = listeners.map((listener, index) =>
    readListener(listener, conflicts.get(index), gateway, context, secrets),
  );
  const { gatewayClassName: className = "", addresses: asked = [] } = gateway.spec ?? {};
  const named = new Set(asked.map(({ value = "" }) => value).filter((value) => value !== ""));
  const isOwn = ({ ip, hostname = "" }: LoadBalancerAddress): boolean => named.size === 0 || named.has(ip ?? hostname);
  const addresses = context.addresses.filter((each) => isOwn(each));
  return { gateway, className, listeners: states, secrets: [...secrets], addresses };
}

/** Index of a listener → reason for a conflict with another one. */
function conflictsOf(listeners: readonly GatewayListener[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  const byPort = new Map<number, number[]>();
  for (const [index, { port }] of listeners.entries()) append(byPort, port, index);
  for (const indexes of byPort.values()) {
    const protocols = new Set(indexes.map((index) => listeners[index]?.protocol));
    const byHost = Map.groupBy(indexes, (index) => canonicalPattern(listeners[index]?.hostname ?? ""));
    for (const index of indexes) {
      const same = byHost.get(canonicalPattern(listeners[index]?.hostname ?? "")) ?? [];
      if (protocols.size > 1) found.set(index, "ProtocolConflict");
      else if (same.length > 1) found.set(index, "HostnameConflict");
    }
  }
  return found;
}

type Reason = readonly [reason: string, message: string];

const PROTOCOLS = ["HTTP", "HTTPS"];

/** @param secrets gets the Secrets that it names and can read */
function readListener(
  listener: GatewayListener,
  conflict: string | undefined,
  gateway: GatewayObject,
  context: ListenerContext,
  secrets: Set<string>,
): ListenerState {
  const isKnown = PROTOCOLS.includes(listener.protocol);
  const { kinds, areValid } = kindsOf(listener);
  const tls = listener.protocol === "HTTPS" ? readCertificateRefs(listener, gateway, context, secrets) : NO_TLS;
  const mode = listener.protocol === "HTTPS" ? (listener.tls?.mode ?? "Terminate") : "Terminate";
  const unaccepted: Reason | undefined = !isKnown
    ? ["UnsupportedProtocol", `is ${listener.protocol}, must be HTTP or HTTPS`]
    : mode === "Terminate"
      ? undefined
      : ["UnsupportedValue", `has TLS mode ${mode}, must be Terminate`];
  const unresolved: Reason | undefined = areValid
    ? tls.problem
    : ["InvalidRouteKinds", "allowedRoutes.kinds must be HTTPRoute or GRPCRoute"];
  const isUsable = unaccepted === undefined && conflict === undefined;
  const unprogrammed = !isUsable || unresolved !== undefined;
  return {
    listener,
    kinds: isKnown ? kinds : [],
    conditions: [
      unaccepted
        ? condition("Accepted", false, ...unaccepted)
        : condition("Accepted", conflict === undefined, conflict ?? "Accepted"),
      condition("Conflicted", conflict !== undefined, conflict ?? "NoConflicts"),
      unresolved ? condition("ResolvedRefs", false, ...unresolved) : condition("ResolvedRefs", true, "ResolvedRefs"),
      unprogrammed
        ? condition("Programmed", false, "Invalid", "see the other conditions")
        : condition("Programmed", true, "Programmed"),
    ],
    isUsable,
    certificates: tls.certificates,
    allows: allowedNamespaces(listener, namespaceOf(gateway), context.labels),
  };
}

function kindsOf({ allowedRoutes }: GatewayListener): {
  readonly kinds: readonly GatewayRouteKind[];
  readonly areValid: boolean;
} {
  const { kinds = [] } = allowedRoutes ?? {};
  if (kinds.length === 0) return { kinds: ROUTE_KINDS, areValid: true };
  const isServed = ({ group = GATEWAY_GROUP, kind }: (typeof kinds)[number]): boolean =>
    group === GATEWAY_GROUP && ROUTE_KINDS.some((each) => each === kind);
  return {
    kinds: ROUTE_KINDS.filter((kind) => kinds.some((each) => isServed(each) && each.kind === kind)),
    areValid: kinds.every(isServed),
  };
}

interface CertificatesReading {
  readonly certificates: readonly string[];
  readonly problem?: Reason;
}

const NO_TLS: CertificatesReading = { certificates: [] };

/** A valid reference is used even if another one is not. */
function readCertificateRefs(
  { tls }: GatewayListener,
  gateway: GatewayObject,
  { secrets: known, isGranted, ignoreTls }: ListenerContext,
  secrets: Set<string>,
): CertificatesReading {
  if (ignoreTls) return NO_TLS;
  const refs = tls?.certificateRefs ?? [];
  const certificates: string[] = [];
  let problem: CertificatesReading["problem"];
  const invalid = (message: string): void => void (problem ??= ["InvalidCertificateRef", message]);
  if (refs.length === 0) invalid("has no certificateRefs");
  for (const { group = "", kind = "Secret", name, namespace = namespaceOf(gateway) } of refs) {
    const key = `${namespace}/${name}`;
    if (group !== "" || kind !== "Secret") {
      invalid(`refers to ${kind} ${key}, must be a Secret`);
      continue;
    }
    const from = { group: GATEWAY_GROUP, kind: "Gateway", namespace: namespaceOf(gateway) };
    if (!isGranted({ from, to: { group, kind, namespace, name } })) {
      problem ??= ["RefNotPermitted", `refers to Secret ${key}, which no ReferenceGrant allows`];
      continue;
    }
    secrets.add(key);
    const secret = known.get(key);
    const state = secret ? pairProblem(secret) : "does not exist, or cannot be read";
    // One that became invalid keeps its previous certificate.
    if (secret) certificates.push(key);
    if (state !== undefined) invalid(`refers to Secret ${key}, which ${state}`);
  }
  return { certificates, ...(problem && { problem }) };
}

function allowedNamespaces(
  { allowedRoutes }: GatewayListener,
  own: string,
  labels: ListenerContext["labels"],
): ListenerState["allows"] {
  const { from = "Same", selector } = allowedRoutes?.namespaces ?? {};
  switch (from) {
    case "All":
      return () => true;
    case "Same":
      return (namespace) => namespace === own;
    case "Selector":
      return (namespace) => {
        const found = labels.get(namespace);
        return found !== undefined && selects(selector, found);
      };
    default:
      return () => false;
  }
}

/** An absent selector selects nothing; an operator that is not known neither. */
function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (!selector) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
        default:
          return false;
      }
    })
  );
}

/** Namespaces are watched only where a listener selects them by labels. */
export function needsNamespaces(gateways: Iterable<{ readonly gateway: GatewayObject }>): boolean {
  return [...gateways].some(({ gateway }) =>
    (gateway.spec?.listeners ?? []).some(({ allowedRoutes }) => allowedRoutes?.namespaces?.from === "Selector"),
  );
}

/** A reference from one namespace to another, which ReferenceGrants allow. */
export interface Reference {
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string };
  readonly to: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string };
}

/** Always true within one namespace. */
export type IsGranted = (reference: Reference) => boolean;

function createGrants(grants: readonly ReferenceGrant[]): IsGranted {
  const byNamespace = Map.groupBy(grants, namespaceOf);
  // Who asks for what is searched once in all grants of a namespace: both can be thousands.
  const answers = new Map<string, ReadonlySet<string>>();
  return ({ from, to }) => {
    if (from.namespace === to.namespace) return true;
    const question = JSON.stringify([from.group, from.kind, from.namespace, to.namespace]);
    let granted = answers.get(question);
    if (!granted) answers.set(question, (granted = grantedTo(from, byNamespace.get(to.namespace) ?? [])));
    return granted.has(targetText(to.group, to.kind, to.name)) || granted.has(targetText(to.group, to.kind));
  };
}

function grantedTo(from: Reference["from"], grants: readonly ReferenceGrant[]): ReadonlySet<string> {
  return new Set(
    grants.flatMap(({ spec }) => {
      const isFrom = (spec?.from ?? []).some(
        (each) => (each.group ?? "") === from.group && each.kind === from.kind && each.namespace === from.namespace,
      );
      return isFrom ? (spec?.to ?? []).map(({ group = "", kind = "", name }) => targetText(group, kind, name)) : [];
    }),
  );
}

/** @param name undefined: every name */
function targetText(group: string, kind: string, name?: string): string {
  return JSON.stringify([group, kind, name ?? null]);
}
