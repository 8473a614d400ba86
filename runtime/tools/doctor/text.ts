/**
 * The text report: clients first, then each thing to change once, with the clients it concerns. If nothing responds,
 * only that, in one line.
 */
import { formatMembers } from "./members.ts";
import type { ClientReport, DoctorReport, RuleResult } from "./doctor.ts";

const WORDS: Readonly<Record<ClientReport["outcome"], string>> = {
  works: "connects",
  limited: "connects, can be improved",
  unclear: "cannot be checked from here",
  fails: "does not connect",
  "not-offered": "is not offered here",
};

export function formatDoctorReport(report: DoctorReport): string {
  if (report.unreachable !== undefined) {
    const hint = report.unreachable.includes("certificate") ? "; --ca FILE trusts the certificates in a file" : "";
    return `no response from ${report.url}: ${report.unreachable}${hint}`;
  }
  const width = Math.max(...report.clients.map(({ name }) => name.length));
  const lines = [report.url, ""];
  for (const client of report.clients) {
    lines.push(
      `  ${client.name.padEnd(width)}  ${client.client === "safety" ? safetyWords(client) : WORDS[client.outcome]}`,
    );
  }
  lines.push(...section("To fix", report, ({ needs }) => needs, "broken"));
  lines.push(...section("To improve", report, ({ wants }) => wants, "broken"));
  lines.push(...notOfferedSection(report));
  lines.push(...section("Not checked", report, ({ needs, wants }) => [...needs, ...wants], "unknown"));
  if (report.members) lines.push(...formatMembers(report.members));
  lines.push(
    "",
    "The maximum message size with a token cannot be checked from outside. On this gateway it is 4 KiB by default: a tool call with a file of 6 KB gets 413. Set mcp.server.max_request_bytes of the route to allow more.",
  );
  return lines.join("\n");
}

function notOfferedSection({ clients }: DoctorReport): readonly string[] {
  const hints = clients.flatMap(({ client, hint }) => (hint === undefined ? [] : [`  ${client}: ${hint}`]));
  return hints.length === 0 ? [] : ["", "Not offered, and not required:", ...hints];
}

function safetyWords(client: ClientReport): string {
  return client.outcome === "fails" ? "is possible" : client.outcome === "unclear" ? WORDS.unclear : "is refused";
}

function section(
  title: string,
  report: DoctorReport,
  resultsOf: (client: ClientReport) => readonly RuleResult[],
  outcome: "broken" | "unknown",
): readonly string[] {
  const found = new Map<string, { result: RuleResult; clients: string[] }>();
  for (const client of report.clients) {
    for (const result of resultsOf(client)) {
      if (result.verdict.outcome !== outcome) continue;
      const entry = found.get(result.rule) ?? { result, clients: [] };
      entry.clients.push(client.client);
      found.set(result.rule, entry);
    }
  }
  if (found.size === 0) return [];
  return ["", `${title}:`, ...[...found.values()].flatMap(({ result, clients }) => describeResult(result, clients))];
}

function describeResult({ rule, says, verdict }: RuleResult, clients: readonly string[]): readonly string[] {
  const title = `  ${rule}: ${says}`;
  const concerned = `    for:  ${clients.join(", ")}`;
  if (verdict.outcome === "broken") return [title, `    seen: ${verdict.seen}`, `    fix:  ${verdict.fix}`, concerned];
  return verdict.outcome === "unknown" ? [title, `    ${verdict.because}`, concerned] : [];
}
