/** The operator's file of hosts that namespaces share, or that are reserved for some: `--hosts FILE`. */
import { isRecord } from "../../../shared/is-record.ts";
import { parseDomainPattern } from "../../../settings/domains.ts";
import { describe, quote } from "../../../settings/problem.ts";
import { readSource } from "../../../settings/source.ts";
import { errorText, GatewayError } from "../../../shared/errors.ts";
import type { HostList } from "./host-claims.ts";
import { isNamespace } from "../objects.ts";

/**
 * @param text YAML: `"*.example.com": [shop, blog]`
 * @throws GatewayError `ingress.option` with every problem
 */
export function readHostList(file: string, text: string): HostList {
  const { value, problems } = readSource(file, text);
  const reasons = problems.map(({ line, message }) => (line === undefined ? message : `line ${line}: ${message}`));
  const list = new Map<string, readonly string[]>();
  if (reasons.length === 0 && !isRecord(value)) {
    reasons.push(`is ${describe(value)}, must name hosts with lists of namespaces: "*.example.com": [shop, blog]`);
  }
  for (const [pattern, namespaces] of isRecord(value) ? Object.entries(value) : []) {
    const host = readPattern(pattern, reasons);
    if (!Array.isArray(namespaces) || !namespaces.every(isNamespace)) {
      reasons.push(`${quote(pattern)} is ${describe(namespaces)}, must be a list of namespaces`);
    } else if (host !== undefined && list.has(host)) reasons.push(`${quote(pattern)} is listed twice`);
    else if (host !== undefined) list.set(host, namespaces);
  }
  if (reasons.length === 0) return list;
  throw new GatewayError("ingress.option", `Cannot use --hosts "${file}": ${reasons.join("; ")}`);
}

function readPattern(pattern: string, reasons: string[]): string | undefined {
  try {
    return parseDomainPattern(pattern).text;
  } catch (error) {
    reasons.push(`${quote(pattern)} ${errorText(error)}`);
    return undefined;
  }
}
