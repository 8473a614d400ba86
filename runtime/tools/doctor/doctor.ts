/**
 * `gateway doctor`: follows the steps of each common client up to the sign-in page, without credentials, and reports
 * per client what works and what to change.
 *
 * It leaves a few registrations named "gateway doctor", which expire unused. It never signs in and sends only made-up
 * tokens.
 */
import { GatewayError } from "../../shared/errors.ts";
import { createAsk } from "./ask.ts";
import { CLIENTS, needsOf, type ClientSequence } from "./clients.ts";
import { short, unknown, type Rule, type RuleVerdict } from "./rule.ts";
import { examineMembers, type MemberReport } from "./members.ts";
import { takesDocuments } from "./server-rules.ts";
import { createVisit } from "./visit.ts";

export interface RuleResult {
  readonly rule: string;
  readonly says: string;
  readonly verdict: RuleVerdict;
}

export interface ClientReport {
  readonly client: string;
  readonly name: string;
  /**
   * "limited": connects, with something to improve. "unclear": a needed step could not be validated. "not-offered": the
   * server is not meant for such clients, which is fine.
   */
  readonly outcome: "works" | "limited" | "unclear" | "fails" | "not-offered";
  /** How to offer it, if it is not. */
  readonly hint?: string;
  readonly needs: readonly RuleResult[];
  readonly wants: readonly RuleResult[];
}

export interface DoctorReport {
  readonly url: string;
  /** No client and no member fails. */
  readonly ok: boolean;
  /** The reason why nothing responds at the address; nothing else was checked then. */
  readonly unreachable?: string;
  readonly clients: readonly ClientReport[];
  /** With a user's token. */
  readonly members?: readonly MemberReport[];
}

/**
 * @param address of an MCP server as users type it
 * @param token of a user, to check the members of a federated route
 * @throws GatewayError `doctor.address`
 */
export async function examine(address: string, token?: string): Promise<DoctorReport> {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw new GatewayError("doctor.address", `Cannot examine "${address}": it must be an http or https address`);
  const visit = createVisit(address, createAsk());
  const { failure } = await visit.initialize();
  if (failure !== undefined) return nothingAnswers(visit.url.href, failure);
  const documents = takesDocuments(await visit.server());
  const results = new Map<string, RuleResult>();
  const absent = new Set<ClientSequence>();
  // One at a time: registration is limited per peer, and the order is that of a client.
  for (const client of CLIENTS) {
    if (client.isOffered && !(await client.isOffered(visit))) {
      absent.add(client);
      continue;
    }
    for (const rule of [...needsOf(client, documents), ...client.wants]) {
      if (!results.has(rule.id))
        results.set(rule.id, { rule: rule.id, says: rule.says, verdict: await rule.check(visit) });
    }
  }
  const clients = CLIENTS.map((client) =>
    absent.has(client) ? notOffered(client) : reportOf(client, needsOf(client, documents), results),
  );
  const members = token === undefined ? undefined : await examineMembers(visit.url.href, token);
  const ok = clients.every(({ outcome }) => outcome !== "fails") && members?.every((each) => each.ok) !== false;
  return { url: visit.url.href, ok, clients, ...(members && { members }) };
}

function nothingAnswers(url: string, failure: string): DoctorReport {
  const clients = CLIENTS.map(({ id, name }) => ({
    client: id,
    name,
    outcome: "fails" as const,
    needs: [],
    wants: [],
  }));
  return { url, ok: false, unreachable: short(failure), clients };
}

function notOffered({ id, name, notOffered: hint }: ClientSequence): ClientReport {
  return { client: id, name, outcome: "not-offered", needs: [], wants: [], ...(hint === undefined ? {} : { hint }) };
}

function reportOf(
  client: ClientSequence,
  needed: readonly Rule[],
  results: ReadonlyMap<string, RuleResult>,
): ClientReport {
  const of = (rules: readonly Rule[]): readonly RuleResult[] =>
    rules.map((rule) => results.get(rule.id) ?? { rule: rule.id, says: rule.says, verdict: unknown("not asked") });
  const needs = of(needed);
  const wants = of(client.wants);
  return { client: client.id, name: client.name, outcome: outcomeOf(needs, wants), needs, wants };
}

function outcomeOf(needs: readonly RuleResult[], wants: readonly RuleResult[]): ClientReport["outcome"] {
  if (needs.some(isBroken)) return "fails";
  if (needs.some(({ verdict }) => verdict.outcome === "unknown")) return "unclear";
  return wants.some(isBroken) ? "limited" : "works";
}

function isBroken({ verdict }: RuleResult): boolean {
  return verdict.outcome === "broken";
}
