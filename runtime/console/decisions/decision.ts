/** One decision by itself, at an address that can be shared. */
import { decisionPage, type TraceParts, type TraceRule } from "../../pages/console/decisions.ts";
import { html } from "../../pages/html.ts";
import { consoleDuration, sourceFailed } from "../../pages/console/pieces.ts";
import { OPERATOR_TEXTS, type RuleTrace } from "../../policy/explain.ts";
import type { KeptRecord, RecordReader } from "../../record-store/record-reader.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { reasonText } from "./reasons.ts";
import { DECISIONS_PATH, fieldText, mayRead, textOf, visibleFields, whatOf } from "./show-record.ts";
import { type Traced, type TraceDeps, traceRecord } from "./trace.ts";

export interface DecisionPageDeps extends TraceDeps {
  readonly log: Log;
}

const SIMULATOR_PATH = "/.gateway/console/simulator";

export async function showDecision(
  deps: DecisionPageDeps,
  reader: RecordReader,
  visit: ConsoleRequest,
  id: string,
): Promise<ScreenPage | undefined> {
  let record: KeptRecord | undefined;
  try {
    record = await reader.get(id);
  } catch (error) {
    deps.log.warn({ reason: errorText(error) }, "console cannot query record store");
    return { title: "Decision", status: 503, body: html`${sourceFailed("The record store")}` };
  }
  if (!record || !mayRead(visit.rights, record)) return undefined;
  const traced = await traceRecord(deps, visit.snapshot, record);
  const { fields, isWithheld } = visibleFields(record, visit.rights);
  const seesPeople = visit.rights.owners === undefined;
  const body = decisionPage({
    outcome: record.outcome,
    timeMs: record.timeMs,
    reason: showUntrusted(reasonText(record)),
    facts: factsOf(record),
    result: resultOf(record),
    fields: fields.map(([name, value]) => [showUntrusted(name), fieldText(value)]),
    withheld: isWithheld ? "Arguments: auditors only." : undefined,
    trace: traced && traceOf(traced, record, seesPeople),
    noTrace: "No policy: no route matched, or the route was removed.",
    links: linksOf(record, seesPeople),
  });
  return { title: showUntrusted(titleOf(record)), body };
}

function titleOf(record: KeptRecord): string {
  return `${record.email || record.userId || "Anonymous"}: ${whatOf(record)}`;
}

function factsOf(record: KeptRecord): readonly (readonly [string, string])[] {
  const field = (label: string, name: string) => [label, showUntrusted(textOf(record, name) ?? "")] as const;
  return [
    field("User", "user"),
    field("Email", "email"),
    field("Client", "client-id"),
    field("Authentication", "auth-method"),
    field("Session", "session-id"),
    field("Grant", "grant-id"),
    field("Route", "route"),
    ["Request", showUntrusted(whatOf(record))],
    field("Host", "host"),
    field("Client IP", "ip"),
    field("Request ID", "request-id"),
    field("Trace ID", "trace-id"),
    field("Configuration", "bundle-digest"),
    field("Rule", "rule"),
  ];
}

function resultOf({ result }: KeptRecord): readonly (readonly [string, string | number | undefined])[] {
  if (!result) return [];
  const { status, durationMs, failedBy, failure, listHidden, listShown } = result;
  return [
    ["Status", status === 0 ? "no response" : status],
    ["Duration", consoleDuration(durationMs)],
    ["Failure origin", failedBy],
    ["Failure", failure],
    ["List", listHidden === undefined ? undefined : `${listShown ?? 0} shown, ${listHidden} hidden`],
  ];
}

function linksOf(record: KeptRecord, seesPeople: boolean): readonly { readonly href: string; readonly text: string }[] {
  const { userId, email, route, tool } = record;
  const to = (path: string, query: Readonly<Record<string, string | undefined>>): string => {
    const set = Object.entries(query).filter(
      (each): each is [string, string] => each[1] !== undefined && each[1] !== "",
    );
    return `${path}?${new URLSearchParams(set).toString()}`;
  };
  const method = textOf(record, "mcp-method");
  const message = tool !== undefined ? "tool" : method !== undefined && method !== "" ? "method" : "http";
  const question = {
    route,
    ...(userId === undefined
      ? { who: "anonymous" }
      : seesPeople
        ? { who: "known", person: userId }
        : { who: "imagined", user: userId, email }),
    message,
    method: message === "method" ? method : message === "http" ? textOf(record, "method") : undefined,
    path: message === "http" ? textOf(record, "path") : undefined,
    name: tool,
    ip: textOf(record, "ip"),
  };
  return [
    ...(userId === undefined
      ? []
      : [{ href: to(DECISIONS_PATH, { user: email || userId }), text: "Decisions for this user" }]),
    ...(route === undefined ? [] : [{ href: to(DECISIONS_PATH, { route }), text: "Decisions for this route" }]),
    ...(tool === undefined ? [] : [{ href: to(DECISIONS_PATH, { route, tool }), text: "Decisions for this tool" }]),
    ...(route === undefined ? [] : [{ href: to(SIMULATOR_PATH, question), text: "Simulate" }]),
  ];
}

/** @param seesPeople whose groups and claims are no matter of a route's owner */
function traceOf({ by, rules, deciding, verdict, notes }: Traced, record: KeptRecord, seesPeople: boolean): TraceParts {
  const which =
    by === "decided"
      ? "Evaluated with the original configuration"
      : "Original configuration unavailable; evaluated with the active one";
  const was =
    record.value["allow"] === true ? "allowed" : record.outcome === "waiting" ? "approval required" : "denied";
  const same = was === verdict ? "" : `, with a different result: ${verdict}`;
  return {
    about: `${which}${same}.`,
    notes,
    rules: rules.map((rule) => ({ ...ruleOf(rule, seesPeople), isDeciding: rule === deciding })),
  };
}

function ruleOf(
  { action, operator, outcome, criteria }: RuleTrace,
  seesPeople: boolean,
): Omit<TraceRule, "isDeciding"> {
  return {
    name: `${ACTIONS[action]}, ${OPERATOR_TEXTS[operator]}`,
    outcome,
    criteria: criteria.map(({ criterion, wanted, actual, outcome: found }) => ({
      name: criterion,
      wanted: showUntrusted(JSON.stringify(wanted) ?? "", MAX_TRACE_CHARACTERS),
      actual: seesPeople || !ABOUT_PEOPLE.test(criterion) ? showUntrusted(actual, MAX_TRACE_CHARACTERS) : "",
      outcome: found,
    })),
  };
}

const MAX_TRACE_CHARACTERS = 1_000;
/** What no record tells of them. */
const ABOUT_PEOPLE = /^(?:groups$|claim\/)/;

const ACTIONS: Readonly<Record<RuleTrace["action"], string>> = {
  deny: "Deny rule",
  approve: "Approve rule",
  allow: "Allow rule",
};
