/** Errors and warnings with the location in the configuration that they concern. */
import { foreignLines } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import type { Message } from "./wire.ts";

export type PathStep = { readonly attribute: string } | { readonly key: string } | { readonly index: number };
export type AttributePath = readonly PathStep[];

export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly summary: string;
  readonly detail: string;
  /** Location of the problem. */
  readonly path?: AttributePath;
  /** Location for Terraform to show, if another one. */
  readonly pointAt?: AttributePath;
}

/** `route["github"].mcp.server.path`, in the form of a reference. */
export function pathText(path: AttributePath): string {
  let text = "";
  for (const step of path) {
    if ("attribute" in step) text += text === "" ? step.attribute : `.${step.attribute}`;
    else if ("key" in step) text += `[${JSON.stringify(step.key)}]`;
    else text += `[${step.index}]`;
  }
  return text;
}

/** A gateway reports up to 100 problems, one per line. */
const MAX_DETAIL = 32_000;

/**
 * Adds the dotted path to the detail: Terraform shows a block's header line if it cannot resolve a path, and no location at
 * all for generated configurations.
 */
export function wireDiagnostic({ severity, summary, detail, path, pointAt = path }: Diagnostic): Message {
  // Details quote gateways, and servers that respond instead of them.
  const shown = foreignLines(detail, MAX_DETAIL);
  const text = path && path.length > 0 ? `${shown}\n\nAt ${visibleText(pathText(path))}` : shown;
  // Terraform shows no location for a path without steps; without a path it shows the start of the block.
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
