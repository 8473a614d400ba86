/** Parts of statuses of the Gateway API: conditions with their times, and texts. */
import { canonicalJson } from "../../../shared/canonical-json.ts";
import { isRecord } from "../../../shared/is-record.ts";
import { CONTROLLER_NAME } from "../ingress-class.ts";
import { type DraftProblem, problemText } from "../ingress-problem.ts";
import type { KubeObject } from "../../kube-object.ts";
import type { BackendTlsReading } from "./backend-tls.ts";
import type { AttachedRoute } from "./draft-routes.ts";
import type { GatewaysReading } from "./listeners.ts";
import type { Condition, GatewayApiObjects } from "./objects.ts";
import type { RoutePolicies } from "./policies.ts";

/** Collections whose statuses are written. */
export type StatusResource =
  | "gatewayClasses"
  | "gateways"
  | "httpRoutes"
  | "grpcRoutes"
  | "backendTlsPolicies"
  | "routePolicies";

export interface ObjectStatus {
  readonly resource: StatusResource;
  readonly object: KubeObject;
  /** @param current the stored status @param at time of changes, RFC 3339 @returns the same value if nothing changes */
  next(current: unknown, at: string): unknown;
}

export interface StatusContext {
  readonly objects: GatewayApiObjects;
  readonly gateways: GatewaysReading;
  readonly policies: RoutePolicies;
  readonly backendTls: BackendTlsReading;
  readonly routes: readonly AttachedRoute[];
  /** By key of the draft. */
  readonly problems: ReadonlyMap<string, readonly DraftProblem[]>;
}

type Stored = Readonly<Record<string, unknown>>;

/** Keeps the time of conditions that did not change, and conditions of other types. */
export function merged(
  stored: unknown,
  conditions: readonly Condition[],
  generation: number | undefined,
  at: string,
): readonly unknown[] {
  const before = (Array.isArray(stored) ? stored : []).filter(isRecord);
  const own = conditions.map((each) => {
    const known = before.find(({ type }) => type === each.type);
    const since = known?.["status"] === each.status ? known["lastTransitionTime"] : undefined;
    return {
      ...each,
      ...(generation !== undefined && { observedGeneration: generation }),
      lastTransitionTime: typeof since === "string" ? since : at,
    };
  });
  const types = new Set(conditions.map(({ type }) => type));
  return [...before.filter(({ type }) => !types.has(String(type))), ...own];
}

export function statusOf(
  resource: StatusResource,
  object: KubeObject,
  make: (current: Stored, at: string) => object,
): ObjectStatus {
  return {
    resource,
    object,
    next(current, at) {
      const stored = isRecord(current) ? current : {};
      const next = make(stored, at);
      return canonicalJson(next) === canonicalJson(stored) ? current : next;
    },
  };
}

/** A parent or an ancestor of an object, with what we say about it. */
export interface StatusEntry {
  readonly ref: object;
  readonly conditions: readonly Condition[];
}

/** The standard allows so many. */
const MAX_ANCESTORS = 16;

/** Status of an object that several controllers serve: their entries stay. */
export function entriesStatus(
  resource: StatusResource,
  object: KubeObject,
  member: "parents" | "ancestors",
  entries: readonly StatusEntry[],
): ObjectStatus {
  const refName = member === "parents" ? "parentRef" : "ancestorRef";
  return statusOf(resource, object, (stored, at) => {
    const before = (Array.isArray(stored[member]) ? stored[member] : []).filter(isRecord);
    const others = before.filter(({ controllerName }) => controllerName !== CONTROLLER_NAME);
    if (entries.length === 0 && others.length === before.length) return stored;
    const most = member === "parents" ? entries.length : Math.max(0, MAX_ANCESTORS - others.length);
    const ours = entries.slice(0, most).map(({ ref, conditions }) => ({
      [refName]: ref,
      controllerName: CONTROLLER_NAME,
      conditions: merged(storedConditions(before, refName, ref), conditions, object.metadata.generation, at),
    }));
    return { ...stored, [member]: [...others, ...ours] };
  });
}

/** Conditions of our entry for this parent or ancestor. */
function storedConditions(entries: readonly Stored[], refName: string, ref: object): unknown {
  const text = canonicalJson(ref);
  return entries.find(
    (each) => each["controllerName"] === CONTROLLER_NAME && canonicalJson(each[refName] ?? null) === text,
  )?.["conditions"];
}

/** The API server rejects longer ones. */
const MAX_MESSAGE_LENGTH = 32_768;
const MAX_SHOWN = 10;

export function messageOf(errors: readonly DraftProblem[]): string {
  const shown = errors.slice(0, MAX_SHOWN).map((each) => problemText(each));
  const more = errors.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ").slice(0, MAX_MESSAGE_LENGTH);
}
