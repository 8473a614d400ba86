/** One decision: in the panel next to the list, or on a page of its own with an address that can be shared. */
import { decisionPage, type DecisionParts, type GivenArgument } from "../../pages/console/decisions.ts";
import { type Html, html } from "../../pages/html.ts";
import { consoleDuration, consoleTime, sourceFailed } from "../../pages/console/pieces.ts";
import type { ArgumentMatch } from "../../policy/mcp/argument-match.ts";
import type { KeptRecord, RecordReader } from "../../record-store/record-reader.ts";
import { errorText } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { Log } from "../../shared/log.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { metWords, ruleViews } from "./rule-views.ts";
import type { ConsoleRequest, ScreenPage } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { argumentsOf, questionOf } from "../simulator/load-decision.ts";
import { reasonText, ruleText } from "./reasons.ts";
import { DECISIONS_PATH, fieldText, mayRead, ownerOf, textOf, visibleFields, whatOf } from "./show-record.ts";
import { digestedArguments, type Traced, type TraceDeps, traceRecord } from "./trace.ts";

export interface DecisionPageDeps extends TraceDeps {
  readonly log: Log;
}

const SIMULATOR_PATH = "/.gateway/console/simulator";

export interface ShownDecision {
  readonly title: string;
  readonly body: Html;
}

/** @returns undefined: there is none that this user can see */
export async function findDecision(
  deps: DecisionPageDeps,
  reader: RecordReader,
  visit: ConsoleRequest,
  id: string,
): Promise<ShownDecision | "unavailable" | undefined> {
  let record: KeptRecord | undefined;
  try {
    record = await reader.get(id);
  } catch (error) {
    deps.log.warn({ reason: errorText(error) }, "console cannot query record store");
    return "unavailable";
  }
  if (!record || !mayRead(visit.rights, record)) return undefined;
  const { fields, isWithheld } = visibleFields(record, visit.rights);
  const seesArguments = visit.rights.may("auditor", ownerOf(record));
  const traced = await traceRecord(deps, visit.snapshot, record, seesArguments);
  const seesUsers = visit.rights.owners === undefined;
  const body = decisionPage({
    outcome: record.outcome,
    verdict: showUntrusted(verdictText(record, traced), MAX_VERDICT_CHARACTERS),
    pageHref: `${DECISIONS_PATH}/${id}`,
    links: linksOf(record, seesUsers, seesArguments),
    facts: factsOf(record, seesUsers),
    given: record.tool === undefined ? undefined : isWithheld ? "Arguments: auditors only." : givenOf(record, traced),
    trace: traced && traceOf(traced, record, seesUsers),
    noTrace: "No policy: no route matched, or the route was removed.",
    fields: fields.map(([name, value]) => [showUntrusted(name), fieldText(value)]),
  });
  return { title: showUntrusted(titleOf(record)), body };
}

export async function showDecision(
  deps: DecisionPageDeps,
  reader: RecordReader,
  visit: ConsoleRequest,
  id: string,
): Promise<ScreenPage | undefined> {
  const found = await findDecision(deps, reader, visit, id);
  if (found === "unavailable")
    return { title: "Decision", status: 503, body: html`${sourceFailed("The record store")}` };
  return found && { title: found.title, body: html`<div class="card one">${found.body}</div>`, scripts: ["panel"] };
}

const MAX_VERDICT_CHARACTERS = 600;

function titleOf(record: KeptRecord): string {
  return `${record.email || record.userId || "Anonymous"}: ${whatOf(record)}`;
}

/** "Denied by rule 1: amount 620 is above 500." */
function verdictText(record: KeptRecord, traced: Traced | undefined): string {
  const { outcome, route } = record;
  if (outcome === "sign-in") return "The caller sent no credentials and was asked to sign in.";
  const deciding = outcome === "limited" || outcome === "error" ? undefined : traced?.deciding;
  if (!deciding) return `${reasonText(record)}.`;
  const { rule, trace } = deciding;
  const met = (trace?.criteria ?? []).filter((each) => each.outcome === "true");
  const isPlain = rule.rule.operator === "and" || rule.rule.operator === "or";
  const clauses = ruleText(rule).replace(/^[^:]*: /, "");
  const why = isPlain && met.length > 0 && isTold(trace) ? met.map(metWords).join(", and ") : clauses;
  const lead = { deny: "Denied by", approve: "Approval required by", allow: "Allowed by" }[rule.action];
  return `${lead} rule ${rule.number}${route === undefined ? "" : ` of ${route}`}: ${why}.`;
}

/** Whether the facts of the record show what the rule met. Of "all of these" nothing may be missing. */
function isTold(trace: NonNullable<Traced["deciding"]>["trace"]): boolean {
  return (
    trace?.outcome === "true" && (trace.operator === "or" || trace.criteria.every(({ outcome }) => outcome === "true"))
  );
}

function factsOf(record: KeptRecord, seesUsers: boolean): DecisionParts["facts"] {
  const { timeMs, userId, email, route, clientId, result } = record;
  const plain = (name: string): string => showUntrusted(textOf(record, name) ?? "");
  const who = showUntrusted(email || userId || "");
  const { status, durationMs, failedBy, failure, succeeded, guardrail, listHidden, listShown } = result ?? {};
  return [
    ["Time", consoleTime(timeMs)],
    ["User", userId !== undefined && seesUsers ? html`<a href="${addressOfId("people", userId)}">${who}</a>` : who],
    [
      "Client",
      clientId !== undefined && seesUsers
        ? html`<a href="${addressOfList("clients", { q: clientId })}">${showUntrusted(clientId)}</a>`
        : showUntrusted(clientId ?? ""),
    ],
    ["Route", route !== undefined && html`<a href="${addressOfId("servers", route)}">${showUntrusted(route)}</a>`],
    ["Request", html`<code>${showUntrusted(whatOf(record))}</code>`],
    ["Client IP", plain("ip")],
    ["Authentication", plain("auth-method")],
    ["Status", status === 0 ? "no response" : status],
    ["Duration", durationMs !== undefined && consoleDuration(durationMs)],
    ["Failure", failure === undefined ? undefined : `${showUntrusted(failure)} (${failedBy ?? "unknown origin"})`],
    ["Call succeeded", succeeded === undefined ? undefined : succeeded ? "yes" : "no"],
    ["Guardrail", guardrailText(record.value["guardrail"])],
    ["Guardrail, result", guardrailText(guardrail)],
    ["List", listHidden === undefined ? undefined : `${listShown ?? 0} shown, ${listHidden} hidden`],
    ["Request ID", html`<code>${plain("request-id")}</code>`],
  ];
}

/** "denied: contains a key (in shadow)" */
function guardrailText(note: unknown): string | undefined {
  if (!isRecord(note)) return undefined;
  const { verdict, reason, shadow } = note;
  const why = typeof reason === "string" ? `: ${reason}` : "";
  return showUntrusted(`${VERDICTS[String(verdict)] ?? "unknown"}${why}${shadow === true ? " (in shadow)" : ""}`);
}

const VERDICTS: Readonly<Record<string, string>> = {
  pass: "passed",
  deny: "denied",
  mutate: "changed",
  error: "no usable verdict",
};

const MAX_ARGUMENTS = 100;
const MAX_ARGUMENT_CHARACTERS = 2_000;

/** Arguments at the top, one line each. */
function givenOf({ value }: KeptRecord, traced: Traced | undefined): readonly GivenArgument[] | string {
  const given = value["mcp-tool-parameters"];
  if (typeof value["mcp-tool-parameters-omitted"] === "number") return "The arguments are too long to be recorded.";
  const digests = digestedArguments(value);
  if (digests.has("")) return "All arguments are recorded as one digest.";
  if (!isRecord(given)) return "No arguments are recorded.";
  const entries = Object.entries(given);
  if (entries.length === 0) return "The call has no arguments.";
  const marked = new Set(traced?.deciding?.rule.rule.leaves.flatMap((leaf) => topOf(leaf.criterion.name, leaf.data)));
  return entries.slice(0, MAX_ARGUMENTS).map(([name, argument]) => ({
    name: showUntrusted(name, 100),
    text: digests.has(`/${name}`)
      ? "(recorded as a digest)"
      : showUntrusted(JSON.stringify(argument) ?? "", MAX_ARGUMENT_CHARACTERS),
    isMarked: marked.has(name),
  }));
}

function topOf(criterion: string, data: unknown): readonly string[] {
  const [, name] = criterion === "mcp_tool_argument" ? (data as ArgumentMatch).argument.split("/") : [];
  return name === undefined ? [] : [name.replaceAll("~1", "/").replaceAll("~0", "~")];
}

function linksOf(record: KeptRecord, seesUsers: boolean, seesArguments: boolean): DecisionParts["links"] {
  const { userId, email, route, tool } = record;
  if (route === undefined) return [];
  const to = (path: string, query: Readonly<Record<string, string | undefined>>): string => {
    const set = Object.entries(query).filter(
      (each): each is [string, string] => each[1] !== undefined && each[1] !== "",
    );
    return `${path}?${new URLSearchParams(set).toString()}`;
  };
  // Arguments must not get into addresses: the simulator loads them.
  const request =
    seesArguments && argumentsOf(record).arguments !== undefined ? textOf(record, "request-id") : undefined;
  const isLoaded = tool !== undefined && request !== undefined;
  return [
    {
      href: to(SIMULATOR_PATH, isLoaded ? { load: request } : { ...questionOf(record, seesUsers) }),
      text: tool === undefined || isLoaded ? "Simulate" : "Simulate without arguments",
    },
    {
      href: to(DECISIONS_PATH, { route, tool, user: email || userId }),
      text: tool === undefined ? "Similar requests" : "Similar calls",
    },
  ];
}

/** @param seesUsers owners of routes do not see groups and claims of users */
function traceOf(traced: Traced, record: KeptRecord, seesUsers: boolean): DecisionParts["trace"] {
  const { by, rules, deciding, verdict, notes } = traced;
  const which =
    by === "decided"
      ? "Evaluated with the original configuration"
      : "Original configuration unavailable; evaluated with the active one";
  const was =
    record.value["allow"] === true ? "allowed" : record.outcome === "waiting" ? "approval required" : "denied";
  // A rule about arguments that are not in the record decided all the same.
  const same = was === verdict || deciding !== undefined ? "" : `, with a different result: ${verdict}`;
  return { about: `${which}${same}.`, notes, rules: ruleViews(rules, { deciding: deciding?.trace, seesUsers }) };
}
