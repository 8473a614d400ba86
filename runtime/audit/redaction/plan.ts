/**
 * What is declared for the arguments of tools: which stand in clear in a record, which as digests, which not at all.
 *
 * The longest pointer that leads to a value or around it counts, and a tool's own before one of "*" that is as long; what "*"
 * says of something below a pointer of the tool's own counts only where it is stricter. `digest` and `omit` meet names as
 * servers that do not mind case read them, `plain` exact ones alone: no other spelling of a name takes a value into the clear.
 */
import { foldCase } from "../../policy/mcp/fold-case.ts";
import { parsePointer } from "../../policy/mcp/argument-values.ts";

/** From the most open to the strictest. */
export const TREATMENTS = ["plain", "digest", "omit"] as const;
export type Treatment = (typeof TREATMENTS)[number];

/** Tool, or "*" for all → JSON pointers. */
export type ToolPointers = Readonly<Record<string, readonly string[]>>;
/** Plain data, for other threads, too. */
export type DeclaredArguments = Readonly<Partial<Record<Treatment, ToolPointers>>>;

interface Rule {
  readonly treatment: Treatment;
  readonly pointer: string;
  readonly tokens: readonly string[];
}

type Rank = "own" | "all" | "clear";

interface Node {
  readonly children: Map<string, Node>;
  readonly rules: Record<Rank, Rule[]>;
}

/** For one tool. */
export interface Plan {
  readonly root: Node;
  /** Something is declared that takes values out of the clear. */
  readonly isRedacting: boolean;
  readonly mayOmit: boolean;
}

/** A place in the arguments, with what is declared for it. */
export interface Place {
  /** Undefined: nothing else is declared below. */
  readonly node: Node | undefined;
  /** The arguments themselves. */
  readonly isRoot: boolean;
  /** As far as something is declared. */
  readonly path: readonly string[];
  readonly own: Rule | undefined;
  readonly all: Rule | undefined;
  readonly isClear: boolean;
}

/** What is declared for a route → for a tool; made once for each route and tool that are named. */
export type Plans = (declared: DeclaredArguments | undefined, tool: string) => Plan;

/** @param clear what stands in clear of that for which a route declares nothing */
export function createPlans(clear: ToolPointers): Plans {
  const clearOf = new Map(Object.entries(clear));
  const known = new WeakMap<DeclaredArguments, (tool: string) => Plan>();
  const plansOf = (declared: DeclaredArguments): ((tool: string) => Plan) => {
    const tools = new Set([...TREATMENTS.flatMap((each) => Object.keys(declared[each] ?? {})), ...clearOf.keys()]);
    tools.delete("*");
    const others = compilePlan(declared, clearOf, undefined, false);
    const exact = new Map([...tools].map((tool) => [tool, compilePlan(declared, clearOf, tool, true)]));
    // Servers that read names of tools without regard to case take one for the other.
    const folded = new Map([...tools].map((tool) => [foldCase(tool), compilePlan(declared, clearOf, tool, false)]));
    return (tool) => exact.get(tool) ?? folded.get(foldCase(tool)) ?? others;
  };
  const ofNothing = plansOf({});
  return (declared, tool) => {
    if (declared === undefined) return ofNothing(tool);
    let plans = known.get(declared);
    if (!plans) known.set(declared, (plans = plansOf(declared)));
    return plans(tool);
  };
}

function compilePlan(
  declared: DeclaredArguments,
  clear: ReadonlyMap<string, readonly string[]>,
  tool: string | undefined,
  isExact: boolean,
): Plan {
  const root = newNode();
  const counts: Record<Treatment, number> = { plain: 0, digest: 0, omit: 0 };
  const add = (rank: Rank, treatment: Treatment, pointers: readonly string[] = []): void => {
    for (const pointer of pointers) {
      const tokens = parsePointer(pointer);
      if (tokens === undefined) continue;
      let node = root;
      for (const token of tokens.map(foldCase)) {
        const next = node.children.get(token) ?? newNode();
        node.children.set(token, next);
        node = next;
      }
      node.rules[rank].push({ treatment, pointer, tokens });
      counts[treatment] += 1;
    }
  };
  for (const treatment of TREATMENTS) {
    const pointers = new Map(Object.entries(declared[treatment] ?? {}));
    if (tool !== undefined) {
      const own = [...pointers].filter(([name]) => name === tool || (!isExact && foldCase(name) === foldCase(tool)));
      if (isExact || treatment !== "plain") for (const [, each] of own) add("own", treatment, each);
    }
    add("all", treatment, pointers.get("*"));
  }
  add("clear", "plain", clear.get("*"));
  if (tool !== undefined && isExact) add("clear", "plain", clear.get(tool));
  return { root, isRedacting: counts.digest + counts.omit > 0, mayOmit: counts.omit > 0 };
}

function newNode(): Node {
  return { children: new Map(), rules: { own: [], all: [], clear: [] } };
}

export function begin({ root }: Plan): Place {
  return { ...enter(root, [], { own: undefined, all: undefined, isClear: false }), isRoot: true };
}

/** @param name of a member, or the index of an element */
export function step(place: Place, name: string): Place {
  const { node } = place;
  if (node === undefined) return place.isRoot ? { ...place, isRoot: false } : place;
  const next = node.children.size === 0 ? undefined : node.children.get(foldCase(name));
  return enter(next, [...place.path, name], place);
}

function enter(node: Node | undefined, path: readonly string[], { own, all, isClear }: Inherited): Place {
  if (node === undefined) return { node, isRoot: false, path, own, all, isClear };
  const { rules } = node;
  return {
    node: node.children.size > 0 ? node : undefined,
    isRoot: false,
    path,
    own: deeper(rules.own, path, own),
    all: deeper(rules.all, path, all),
    isClear: isClear || rules.clear.some((rule) => isExact(rule, path)),
  };
}

type Inherited = Pick<Place, "own" | "all" | "isClear">;

/** The exact one of several whose names differ by spelling; another spelling makes nothing more open than it was. */
function deeper(rules: readonly Rule[], path: readonly string[], inherited: Rule | undefined): Rule | undefined {
  if (rules.length === 0) return inherited;
  const exact = rules.filter((rule) => isExact(rule, path));
  if (exact.length > 0) return strictest(exact);
  const closed = rules.filter(({ treatment }) => treatment !== "plain");
  return strictest(inherited ? [inherited, ...closed] : closed);
}

function isExact({ tokens }: Rule, path: readonly string[]): boolean {
  return tokens.every((token, index) => token === path[index]);
}

function strictest(rules: readonly Rule[]): Rule | undefined {
  return rules.reduce<Rule | undefined>(
    (found, rule) => (found === undefined || strictness(rule) > strictness(found) ? rule : found),
    undefined,
  );
}

function strictness({ treatment }: Rule): number {
  return TREATMENTS.indexOf(treatment);
}

/** What is declared, and by which pointer; undefined: nothing is. */
export function declaredAt({ own, all, isClear }: Place): Pick<Rule, "treatment" | "pointer"> | undefined {
  if (own && all) return all.tokens.length > own.tokens.length ? strictest([own, all]) : own;
  return own ?? all ?? (isClear ? CLEAR : undefined);
}

const CLEAR = { treatment: "plain", pointer: "" } as const;

/** Whether a declaration has this very name: then it is no secret. */
export function namesExactly({ node, path }: Place, name: string): boolean {
  const next = node?.children.get(foldCase(name));
  return next !== undefined && isNamed(next, [...path, name]);
}

function isNamed({ rules, children }: Node, path: readonly string[]): boolean {
  const at = path.length - 1;
  const has = ({ tokens }: Rule): boolean => path.every((name, index) => tokens[index] === name) && at < tokens.length;
  return (
    [...rules.own, ...rules.all, ...rules.clear].some(has) ||
    [...children.values()].some((child) => isNamed(child, path))
  );
}
