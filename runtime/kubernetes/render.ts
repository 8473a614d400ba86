/** A translation as text: the slice for standard output, problems for standard error. */
import { canonicalJson } from "../shared/canonical-json.ts";
import { visibleText } from "../shared/json/visible-text.ts";
import { yamlText } from "../shared/json/yaml-text.ts";
import type { Slice } from "../config/slice.ts";
import { leftAloneText } from "./translate/left-alone.ts";
import { formatIngressProblem, isRouteKey } from "./translate/ingress-problem.ts";
import type { Translation } from "./translate/translate.ts";

export type SliceFormat = "yaml" | "json";

/** A slice in a gateway's format. JSON is canonical: equal slices are equal texts. */
export function renderSlice(slice: Slice, format: SliceFormat): string {
  if (format === "json") return `${canonicalJson(slice)}\n`;
  return yamlText(slice);
}

/** All slices: YAML documents, or one line of JSON each. */
export function renderSlices({ slices }: Pick<Translation, "slices">, format: SliceFormat): string {
  return slices.map((slice) => renderSlice(slice, format)).join(format === "json" ? "" : "---\n");
}

/** One line for every problem, then TLS requests, foreign Ingresses, and the number of served ones. */
export function renderProblems({ problems, ingresses, foreign, tls }: Translation): string {
  const served = ingresses.filter((each) => each.served).length;
  const lines = problems.map((problem) => formatIngressProblem(problem));
  for (const { ingress, hosts, secret } of tls) {
    const names = hosts.length === 0 ? "its hosts" : hosts.join(", ");
    const from = secret === undefined ? "" : `, with the certificate of Secret ${secret}`;
    lines.push(`Ingress ${ingress}: note: requests TLS for ${names}${from}`);
  }
  for (const each of foreign) lines.push(`Ingress ${leftAloneText(each)}: note: has another class and is ignored`);
  const what = ingresses.some(({ key }) => isRouteKey(key)) ? "Ingresses and routes" : "Ingresses";
  lines.push(`${served} of ${ingresses.length} ${what} served`);
  return `${lines.map((line) => visibleText(line)).join("\n")}\n`;
}
