/** Errors and warnings with the place in the configuration that they are about. */
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

/**
 * The dotted path goes into the detail as well: Terraform points at a header line where it cannot resolve a path,
 * and shows none at all for configurations it generated.
 */
export function wireDiagnostic({ severity, summary, detail, path, pointAt = path }: Diagnostic): Message {
  const text = path && path.length > 0 ? `${detail}\n\nAt ${pathText(path)}` : detail;
  // A path without steps has no place at all in Terraform's eyes; without a path it shows where the block begins.
  const at = pointAt && pointAt.length > 0 ? { path: wirePath(pointAt) } : {};
  return { severity: severity === "error" ? 1 : 2, summary, detail: text, ...at };
}

export function wirePath(path: AttributePath): Message {
  return {
    steps: path.map((step) => {
      if ("attribute" in step) return { attribute: step.attribute };
      return "key" in step ? { keyText: step.key } : { keyNumber: step.index };
    }),
  };
}
