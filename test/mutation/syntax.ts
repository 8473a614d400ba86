/** The syntax tree of a TypeScript source, as far as mutants need it: vitest's own parser (oxc), ESTree with positions. */
import { parseAst } from "vitest/node";

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export const parseSource = (text: string): Node => parseAst(text, { lang: "ts" }) as unknown as Node;

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";

/** A child that is a node. */
export function nodeAt(node: Node, key: string): Node | undefined {
  const value = node[key];
  return isNode(value) ? value : undefined;
}

/** Children that are a list of nodes; holes of arrays are left out. */
export function nodesAt(node: Node, key: string): readonly Node[] {
  const value = node[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Whether a node says something about types alone: nothing of it runs. */
const isTypeOnly = (node: Node): boolean =>
  (node.type.startsWith("TS") &&
    !["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"].includes(node.type)) ||
  node["importKind"] === "type" ||
  node["exportKind"] === "type";

/** Every node that runs, with the nodes around it (the nearest last). */
export function walk(node: Node, visit: (node: Node, around: readonly Node[]) => void, around: Node[] = []): void {
  if (isTypeOnly(node) || node.type === "ImportDeclaration") return;
  visit(node, around);
  around.push(node);
  for (const [key, value] of Object.entries(node)) {
    if (key === "typeAnnotation" || key === "returnType" || key === "typeArguments" || key === "typeParameters")
      continue;
    if (isNode(value)) walk(value, visit, around);
    else if (Array.isArray(value)) for (const each of value) if (isNode(each)) walk(each, visit, around);
  }
  around.pop();
}
