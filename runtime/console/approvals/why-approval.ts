/** Why a pending call needs an approval: the policy of its route, evaluated with the arguments of the call. */
import type { ApprovalRecord } from "../../approvals/approval-records.ts";
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import { explain } from "../../policy/explain.ts";
import type { Facts } from "../../policy/facts.ts";
import { argumentsOf } from "../../policy/mcp/argument-values.ts";
import type { AppliedRule } from "../../pages/console/lists/rules.ts";
import { canonicalJson, parseVerbatim } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import { metWords, ruleViews } from "../decisions/rule-views.ts";
import { showUntrusted } from "../show-untrusted.ts";

export interface WhyApproval {
  /** "Rule 2: amount 450 is above 100"; undefined if no approve rule matches now. */
  readonly sentence: string | undefined;
  readonly rules: readonly AppliedRule[];
}

const MAX_CHARACTERS = 400;

/**
 * @param given canonical JSON, as approvals store it
 * @param user  the current facts of the requester
 */
export function whyApproval(
  snapshot: Snapshot,
  { routeKey, server, tool, userId, userEmail }: ApprovalRecord,
  given: string,
  user: Facts["user"],
  seesUsers: boolean,
): WhyApproval {
  const route = findRoute(snapshot, routeKey);
  const url = URL.parse(server);
  if (!route || !url) return { sentence: undefined, rules: [] };
  const { rules } = explain(route.policy, {
    user: user ?? { id: userId, email: userEmail, name: "", groups: [], claims: {} },
    http: { method: "POST", path: url.pathname, host: url.host, ip: "" },
    mcp: { method: "tools/call", tool, arguments: argumentsOf(parseArguments(given)) },
  });
  const deciding = rules.find(({ action, outcome }) => action === "approve" && outcome === "true");
  const met = deciding?.criteria.filter(({ outcome }) => outcome === "true").map(metWords) ?? [];
  const number = deciding ? rules.indexOf(deciding) + 1 : 0;
  return {
    sentence: met.length === 0 ? undefined : showUntrusted(`Rule ${number}: ${met.join(", and ")}`, MAX_CHARACTERS),
    rules: ruleViews(rules, { deciding, seesUsers }),
  };
}

/** Arguments in one line: 'amount 450, order "A-20877"'. */
export function givenLine(given: string): string {
  const members = parseArguments(given);
  const parts = isRecord(members)
    ? Object.entries(members).map(([name, value]) => `${name} ${canonicalJson(value)}`)
    : [];
  return showUntrusted(parts.join(", "), MAX_LINE);
}

const MAX_LINE = 80;

function parseArguments(given: string): unknown {
  const whole = parseVerbatim(given);
  const params: unknown = Array.isArray(whole) ? whole[0] : whole;
  return isRecord(params) ? (params["arguments"] ?? {}) : {};
}
