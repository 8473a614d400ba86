/** The traffic of one route: last requests, upstreams, connected accounts, and what was learned about the upstream. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { addressOf as upstreamAddress } from "../../features/balancing/apply-state.ts";
import { findNeed, needText } from "../../oauth/client/learned-needs.ts";
import type { CallsView, RouteUpstreamRow, TrafficPart } from "../../pages/console/servers/route-view.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { callWords } from "../call-words.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { ServersDeps } from "./deps.ts";

const COUNTED_CALLS = 100;
const SHOWN_CALLS = 10;
/** Sentences of health checks. */
const LONG = 1000;

export async function trafficPart(
  deps: ServersDeps,
  visit: ConsoleRequest,
  route: CompiledRoute,
): Promise<TrafficPart> {
  const [connections, calls, need] = await Promise.all([
    connectionsOf(deps, route),
    callsOf(deps, visit, route),
    needOf(deps, visit, route),
  ]);
  return {
    upstreams: visit.rights.may("operator", route.owner) ? upstreamsOf(deps, route) : undefined,
    connections,
    need,
    calls,
    decisions: deps.records && addressOfList("decisions", { route: route.key }),
  };
}

async function connectionsOf({ connections }: ServersDeps, route: CompiledRoute): Promise<TrafficPart["connections"]> {
  if (route.mcp?.kind !== "server") return undefined;
  try {
    const { byRoute, isCut } = await connections.counts();
    const count = byRoute.get(route.key);
    return count && { ...count, isCut };
  } catch {
    return "failed";
  }
}

async function needOf(
  { store }: ServersDeps,
  visit: ConsoleRequest,
  route: CompiledRoute,
): Promise<TrafficPart["need"]> {
  if (route.mcp?.kind !== "server") return undefined;
  try {
    const need = await findNeed(store, route.key);
    if (!need) return undefined;
    const form = { action: addressOfId("servers", route.key), csrfToken: visit.csrf("forget-need") };
    return {
      text: needText(need),
      sinceMs: need.learnedAt === undefined ? undefined : need.learnedAt * 1000,
      forget: visit.rights.may("operator", route.owner) ? form : undefined,
    };
  } catch {
    return "failed";
  }
}

async function callsOf(
  { records }: ServersDeps,
  { rights }: ConsoleRequest,
  route: CompiledRoute,
): Promise<TrafficPart["calls"]> {
  if (!records) return undefined;
  const { owners } = rights;
  try {
    const page = await records.find({
      kind: "decision",
      route: route.key,
      order: "newest",
      limit: COUNTED_CALLS,
      ...(owners === undefined ? {} : { owners }),
    });
    return callsView(page.records);
  } catch {
    return "failed";
  }
}

export function callsView(records: readonly KeptRecord[]): CallsView {
  return {
    rows: records.slice(0, SHOWN_CALLS).map(({ id, timeMs, outcome, userId, email, result, ...record }) => ({
      href: addressOfId("decisions", id),
      timeMs,
      who: showUntrusted(email ?? userId ?? "not signed in"),
      what: callWords(record),
      outcome,
      status: result?.status,
      durationMs: result?.durationMs,
    })),
    counted: records.length,
    denied: records.filter(({ outcome }) => outcome === "denied").length,
    failed: records.filter(({ outcome }) => outcome === "error").length,
  };
}

function upstreamsOf({ upstreams }: ServersDeps, route: CompiledRoute): readonly RouteUpstreamRow[] {
  const known = new Map(
    upstreams().flatMap((each) => (each.route === route.key ? [[each.upstream, each] as const] : [])),
  );
  return route.to.map((upstream) => {
    const { weight } = upstream;
    const status = known.get(upstreamAddress(upstream));
    const failing = status?.checks.filter(({ healthy }) => !healthy) ?? [];
    const notes = [
      ...(route.to.length > 1 && weight !== 1 ? [`weight ${weight}`] : []),
      ...failing.map(({ kind, last_error: error }) => `${kind} check fails: ${error}`),
      ...(status?.left_out_until ? [`ejected until ${new Date(status.left_out_until * 1000).toISOString()}`] : []),
      ...(status && status.ejections > 0 ? [`ejected ${status.ejections} times`] : []),
    ];
    return {
      address: showUntrusted(upstreamAddress(upstream)),
      isWell: status?.healthy,
      notes: notes.map((note) => showUntrusted(note, LONG)),
    };
  });
}
