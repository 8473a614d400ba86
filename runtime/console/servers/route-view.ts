/** All that the page of one route shows. What a source cannot tell at the moment leaves the rest as it is. */
import { stringify } from "yaml";

import type { CompiledRoute } from "../../config/compiled.ts";
import { addressOf as upstreamAddress } from "../../features/balancing/apply-state.ts";
import { clientRecipes } from "../../features/mcp/known-clients.ts";
import { keyLabel, kindOfKey, nameOfKey } from "../../features/mcp/locked-items.ts";
import { toolLockOf } from "../../mcp/tool-locks/tool-locks.ts";
import { findNeed, needText } from "../../oauth/client/learned-needs.ts";
import type {
  CallsView,
  HeaderLine,
  ReachRow,
  RouteView,
  RouteRuleView,
  ToolRow,
  RouteUpstreamRow,
} from "../../pages/console/servers/route-view.ts";
import { describeBlock } from "../../policy/blocks.ts";
import { policyWords, type Rules, type RuleWords } from "../../policy/words/policy-words.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { addressOfId, addressOfList, placeIn } from "../addresses.ts";
import { callWords } from "../call-words.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { headerLines } from "./header-lines.ts";
import { peopleRows, subjectRows } from "./reach-view.ts";
import { addressOf, kindOf, kindText, routeFacts } from "./route-words.ts";
import type { ServersDeps } from "./deps.ts";

const MAX_TOOLS = 200;
const COUNTED_CALLS = 100;
const SHOWN_CALLS = 10;
/** Sentences, patterns, values of headers. */
const LONG = 1000;
const MAX_POLICY_LINES = 500;

export async function routeView(deps: ServersDeps, visit: ConsoleRequest, route: CompiledRoute): Promise<RouteView> {
  const { snapshot, rights } = visit;
  const lock = toolLockOf(route);
  const locked = lock ? [...lock.items.keys()] : [];
  const tools = locked.filter((key) => kindOfKey(key) === "tool").map(nameOfKey);
  const block = deps.blocks.find({ routeKey: route.key });
  const headers = headerLines(route, snapshot.settings);
  const { rows, leftOut } = subjectRows(route, tools);
  const resource = route.mcp?.kind === "server" ? route.mcp.resource : undefined;
  const [people, connections, calls, need] = await Promise.all([
    peopleOf(deps, visit, route, tools),
    connectionsOf(deps, route),
    callsOf(deps, visit, route),
    needOf(deps, visit, route),
  ]);
  return {
    facts: [...routeFacts(route), ...toolNotes(deps, route)].map(([label, text]) => [
      showUntrusted(label),
      showUntrusted(text, LONG),
    ]),
    address: showUntrusted(addressOf(route), LONG),
    kind: kindText(kindOf(route)),
    owner: showUntrusted(route.owner),
    key: showUntrusted(route.key),
    block: block && blockText(describeBlock(block)),
    rules: policyWords(route.policy).map(ruleView),
    written: writtenPolicy(route),
    trials: (route.shadow?.candidates ?? []).map(({ name, kind, policy }) => ({
      name,
      rules: policyWords(kind === "rule" ? withoutRules(policy, route.policy) : policy).map(ruleView),
    })),
    subjects: { rows: rows.map(shownReach), leftOut },
    people,
    request: headers.request.map(shownHeader),
    response: headers.response.map(shownHeader),
    tools: lock && toolsOf(deps, route, locked, lock.onDrift),
    upstreams: rights.may("operator", route.owner) ? upstreamsOf(deps, route) : undefined,
    connections,
    need,
    calls,
    decisions: deps.records && addressOfList("decisions", { route: route.key }),
    recipes:
      resource === undefined ? [] : clientRecipes(route.name, resource, snapshot.settings.mcpAllowedClientIdDomains),
  };
}

/** YAML, in which only ends of lines have no look of their own. */
function writtenPolicy({ policy }: CompiledRoute): string {
  const lines = stringify(policy.doc, { lineWidth: 0 }).trimEnd().split("\n");
  const shown = lines.slice(0, MAX_POLICY_LINES).map((line) => showUntrusted(line, LONG));
  return [...shown, ...(lines.length > shown.length ? [`… (${lines.length - shown.length} more lines)`] : [])].join(
    "\n",
  );
}

function ruleView({ action, lead, clauses }: RuleWords): RouteRuleView {
  return { action, lead: showUntrusted(lead, LONG), clauses: clauses.map((clause) => showUntrusted(clause, LONG)) };
}

/** A rule on trial is judged with all those in force: what it adds. */
function withoutRules(policy: Rules, enforced: Rules): Rules {
  const spell = (rule: Rules["approve"][number]): string =>
    JSON.stringify([rule.operator, rule.leaves.map(({ key, data }) => [key, data]), rule.approvers ?? null]);
  const rest = <T extends Rules["approve"][number]>(some: readonly T[], known: readonly T[]): readonly T[] => {
    const left = new Map<string, number>();
    for (const rule of known) left.set(spell(rule), (left.get(spell(rule)) ?? 0) + 1);
    return some.filter((rule) => {
      const text = spell(rule);
      const times = left.get(text) ?? 0;
      left.set(text, times - 1);
      return times <= 0;
    });
  };
  return {
    allow: rest(asApprove(policy.allow), asApprove(enforced.allow)),
    deny: rest(asApprove(policy.deny), asApprove(enforced.deny)),
    approve: rest(policy.approve, enforced.approve),
  };
}

function asApprove(rules: Rules["allow"]): Rules["approve"] {
  return rules.map((rule) => ({ approvers: undefined, ...rule }));
}

function blockText({ reason, since, until, by }: ReturnType<typeof describeBlock>): string {
  const end = until === "" ? "until that is lifted" : `until ${until}`;
  return showUntrusted(`Since ${since}, ${end}, by ${by}${reason === "" ? "" : `: ${reason}`}`, LONG);
}

function shownReach<T extends ReachRow>(row: T): T {
  return {
    ...row,
    who: showUntrusted(row.who),
    why: showUntrusted(row.why, LONG),
    ...(row.tools === undefined ? {} : { tools: showUntrusted(row.tools, LONG) }),
  };
}

function shownHeader({ name, how, value }: HeaderLine): HeaderLine {
  return { name: showUntrusted(name), how, value: showUntrusted(value, LONG) };
}

async function peopleOf(
  deps: ServersDeps,
  { snapshot, rights, query }: ConsoleRequest,
  route: CompiledRoute,
  tools: readonly string[],
): Promise<RouteView["people"]> {
  // People belong to nobody: who may see one owner's routes does not see who there is.
  if (!rights.may("viewer")) return undefined;
  const after = placeIn("identity:", query.get("people"));
  try {
    const { found, next } = await peopleRows(deps, route, snapshot.settings, { tools, after });
    return {
      rows: found.map((row) => ({ ...shownReach(row), href: addressOfId("people", row.userId) })),
      pages: {
        first: after === undefined ? undefined : addressOfId("servers", route.key),
        next: next === undefined ? undefined : addressOfId("servers", route.key, { people: next }),
      },
    };
  } catch {
    return "failed";
  }
}

async function connectionsOf({ connections }: ServersDeps, route: CompiledRoute): Promise<RouteView["connections"]> {
  if (route.mcp?.kind !== "server") return undefined;
  try {
    const { byRoute, isCut } = await connections.counts();
    const count = byRoute.get(route.key);
    return count && { ...count, isCut };
  } catch {
    return "failed";
  }
}

async function needOf({ store }: ServersDeps, visit: ConsoleRequest, route: CompiledRoute): Promise<RouteView["need"]> {
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
): Promise<RouteView["calls"]> {
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

/** What of the server's tools its rules do not decide as people may think. */
function toolNotes({ listedTools }: ServersDeps, { key }: CompiledRoute): readonly (readonly [string, string])[] {
  const { unclear = [], uncovered = [] } = listedTools?.notesOf(key) ?? {};
  return [
    ...(unclear.length === 0 ? [] : [["Hidden tools with unclear names", unclear.join(", ")] as const]),
    ...uncovered.map(({ tool, rule }) => ["Tool not covered by a rule", `${tool}, by the rule about ${rule}`] as const),
  ];
}

const ON_DRIFT = {
  warn: "recorded, calls allowed",
  hide: "hidden, calls denied",
  deny: "listed, calls denied",
} as const;

function toolsOf(
  { toolLocks }: ServersDeps,
  route: CompiledRoute,
  locked: readonly string[],
  onDrift: keyof typeof ON_DRIFT,
): RouteView["tools"] {
  const { changed, unlocked } = toolLocks.differences(route);
  const rows: ToolRow[] = [
    ...[...changed].map((name) => ({ name, state: "changed" as const })),
    ...[...unlocked].map((name) => ({ name, state: "unlocked" as const })),
    ...locked.filter((key) => !changed.has(key)).map((name) => ({ name, state: "reviewed" as const })),
  ];
  return {
    rows: rows.slice(0, MAX_TOOLS).map(({ name, state }) => ({ name: showUntrusted(keyLabel(name)), state })),
    onDrift: ON_DRIFT[onDrift],
    leftOut: Math.max(0, rows.length - MAX_TOOLS),
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
