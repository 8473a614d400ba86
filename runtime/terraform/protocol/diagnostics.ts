/** Errors and warnings with the place in the configuration that they are about. */
import { foreignLines } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import type { Message } from "./wire.ts";

export type PathStep = { readonly attribute: string } | { readonly key: string } | { readonly index: number };
export type AttributePath = readonly PathStep[];

export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly summary: string;
  readonly detail: string;
  /** What it is about. */
  readonly path?: AttributePath;
  /** Where Terraform shall point, when that is not the place itself. */
  readonly pointAt?: AttributePath;
}

/** `route["github"].mcp.server.path`, as one would write a reference to it. */
export function pathText(path: AttributePath): string {
  let text = "";
  for (const step of path) {
    if ("attribute" in step) text += text === "" ? step.attribute : `.${step.attribute}`;
    else if ("key" in step) text += `[${JSON.stringify(step.key)}]`;
    else text += `[${step.index}]`;
  }
  return text;
}

/** A gateway names 100 problems, each with a line. */
const MAX_DETAIL = 32_000;

/**
 * The dotted path goes into the detail as well: Terraform points at a header line where it cannot resolve a path,
 * and shows none at all for configurations it generated.
 */
export function wireDiagnostic({ severity, summary, detail, path, pointAt = path }: Diagnostic): Message {
  // Details repeat what gateways, and what answers in their place, said.
  const said = foreignLines(detail, MAX_DETAIL);
  const text = path && path.length > 0 ? `${said}\n\nAt ${visibleText(pathText(path))}` : said;
  // A path without steps has no place at all in Terraform's eyes; without a path it shows where the block begins.
  const at = pointAt && pointAt.length > 0 ? { path: wirePath(pointAt) } : {};
  return { severity: severity === "error" ? 1 : 2, summary: visibleText(summary), detail: text, ...at };
}

export function wirePath(path: AttributePath): Message {
  return {
    steps: path.map((step) => {
      if ("attribute" in step) return { attribute: step.attribute };
      return "key" in step ? { keyText: step.key } : { keyNumber: step.index };
    }),
  };
}
