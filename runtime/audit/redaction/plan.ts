/**
 * The declared treatment of tool arguments in a record: plain text, digest, or omitted.
 *
 * The longest pointer to a value or to its parent applies, and a tool's own pointer wins over an equally long one of
 * "*". Below a tool's own pointer, "*" applies only where it is stricter. `digest` and `omit` match names without
 * regard to case, "-", "_", "." and brackets, and several names written as one ("user.password", "userPassword" for
 * `/user/password`). `plain` matches exact names only: no other form of a name exposes a value. Nor does another form
 * of a value (`element`, `placeOf`).
 */
import { foldCase } from "../../policy/mcp/fold-case.ts";
import { parsePointer } from "../../policy/mcp/argument-values.ts";
import { joinNames, type Joining, looseName, type Start } from "./loose-names.ts";
import { append } from "../../shared/linear/append.ts";

/** From the least strict to the strictest. */
export const TREATMENTS = ["plain", "digest", "omit"] as const;
export type Treatment = (typeof TREATMENTS)[number];

/** Tool, or "*" for all → JSON pointers. */
export type ToolPointers = Readonly<Record<string, readonly string[]>>;
/** Plain data, also for other threads. */
export type DeclaredArguments = Readonly<Partial<Record<Treatment, ToolPointers>>>;

interface Rule {
  readonly treatment: Treatment;
  readonly pointer: string;
  /** Number of names in the pointer. */
  readonly depth: number;
}

/** Node for all pointers whose names differ only in their form. */
interface Node extends Joining<Node> {
  readonly children: Map<string, Node>;
  /** The strictest rule here other than `plain`: it applies to each form. */
  closed: Rule | undefined;
  /** The strictest of the rules below. */
  below: Rule | undefined;
  /** A child has a name that is not an index. */
  isNamed: boolean;
}

/** Node for pointers with exactly the same names. */
interface ExactNode {
  readonly children: Map<string, ExactNode>;
  /** The strictest rule here. */
  rule: Rule | undefined;
}

type Rank = "own" | "all";

/** The pointers of one tool, or of "*". Plans share the latter: a copy for each tool would be a product of two sizes. */
interface Tree {
  readonly rank: Rank;
  readonly node: Node;
  readonly exact: ExactNode;
  /** Rules of each treatment. */
  readonly counts: Readonly<Record<Treatment, number>>;
}

/** A position in one tree; `exact` is undefined if the path so far used another form of a name. */
interface Position {
  readonly rank: Rank;
  readonly node: Node;
  readonly exact: ExactNode | undefined;
  /** Position of the surrounding list, whose pointers also match its elements. */
  readonly isAround?: boolean;
}

const INDEX = /^[0-9]+$/;
/** Start of JSON texts with content. */
const JSON_START = /^\s*["[{]/;

/** The plan for one tool. */
export interface Plan {
  readonly trees: readonly Tree[];
  /** Some declaration redacts values. */
  readonly isRedacting: boolean;
  readonly mayOmit: boolean;
}

/** A position in the arguments, with its declarations. */
export interface Place {
  /** There are further declarations below. */
  readonly leadsOn: boolean;
  /** Positions in trees that continue below. */
  readonly positions: readonly Position[];
  /** The arguments themselves. */
  readonly isRoot: boolean;
  readonly own: Rule | undefined;
  readonly all: Rule | undefined;
}

/** The declarations of a route → those for a tool; created once for each named route and tool. */
export type Plans = (declared: DeclaredArguments | undefined, tool: string) => Plan;

/** Plan of a route without declarations. */
export const NO_PLAN: Plan = makePlan([]);

export function createPlans(): Plans {
  const known = new WeakMap<DeclaredArguments, (tool: string) => Plan>();
  return (declared, tool) => {
    if (declared === undefined) return NO_PLAN;
    let plans = known.get(declared);
    if (!plans) known.set(declared, (plans = plansOf(declared)));
    return plans(tool);
  };
}

type Declared = readonly [Treatment, readonly string[]];

function plansOf(declared: DeclaredArguments): (tool: string) => Plan {
  const exact = new Map<string, Declared[]>();
  const folded = new Map<string, Declared[]>();
  for (const treatment of TREATMENTS) {
    for (const [tool, pointers] of Object.entries(declared[treatment] ?? {})) {
      append(exact, tool, [treatment, pointers]);
      const fold = foldCase(tool);
      // Another form of a tool's name must not expose anything.
      if (treatment === "plain") folded.set(fold, folded.get(fold) ?? []);
      else append(folded, fold, [treatment, pointers]);
    }
  }
  const all = makeTree("all", exact.get("*") ?? []);
  exact.delete("*");
  folded.delete("*");
  const others = makePlan([all]);
  const withOwn = (found: ReadonlyMap<string, readonly Declared[]>): ReadonlyMap<string, Plan> =>
    new Map([...found].map(([tool, own]) => [tool, makePlan([makeTree("own", own), all])]));
  const exactPlans = withOwn(exact);
  // Servers that ignore the case of tool names confuse them.
  const foldedPlans = withOwn(folded);
  return (tool) => exactPlans.get(tool) ?? foldedPlans.get(foldCase(tool)) ?? others;
}

function makeTree(rank: Rank, declared: readonly Declared[]): Tree {
  const root = emptyNode();
  const exactRoot: ExactNode = { children: new Map(), rule: undefined };
  const counts: Record<Treatment, number> = { plain: 0, digest: 0, omit: 0 };
  for (const [treatment, pointers] of declared) {
    for (const pointer of pointers) {
      const tokens = parsePointer(pointer);
      if (tokens === undefined) continue;
      const rule = { treatment, pointer, depth: tokens.length };
      let node = root;
      let exact = exactRoot;
      /** The last nodes, each with the joined names from there to here. */
      let starts: readonly Start<Node>[] = [];
      for (const token of tokens) {
        const fold = looseName(token);
        const next = node.children.get(fold) ?? emptyNode();
        node.children.set(fold, next);
        if (treatment !== "plain") {
          node.below = stricter(node.below, rule);
          node.isNamed ||= !INDEX.test(token);
        }
        if (treatment !== "plain") starts = joinNames(starts, node, fold, next);
        node = next;
        const nextExact = exact.children.get(token) ?? { children: new Map(), rule: undefined };
        exact.children.set(token, nextExact);
        exact = nextExact;
      }
      exact.rule = stricter(exact.rule, rule);
      if (treatment !== "plain") node.closed = stricter(node.closed, rule);
      counts[treatment] += 1;
    }
  }
  return { rank, node: root, exact: exactRoot, counts };
}

function emptyNode(): Node {
  return { children: new Map(), joined: new Map(), closed: undefined, below: undefined, isNamed: false };
}

function makePlan(trees: readonly Tree[]): Plan {
  const has = (treatment: Treatment): boolean => trees.some(({ counts }) => counts[treatment] > 0);
  return { trees, isRedacting: has("digest") || has("omit"), mayOmit: has("omit") };
}

export function begin({ trees }: Plan): Place {
  return { ...enter(trees, { own: undefined, all: undefined }), isRoot: true };
}

/** @param name of a member; some servers read an object with members 0, 1, … as a list */
export function step(place: Place, name: string): Place {
  return INDEX.test(name) ? element(place, name) : member(place, name);
}

function member(place: Place, name: string): Place {
  if (!place.leadsOn) return place.isRoot ? { ...place, isRoot: false } : place;
  const fold = looseName(name);
  const positions: Position[] = [];
  for (const { rank, node, exact } of place.positions) {
    // Before the exact name, which decides.
    for (const next of node.joined.get(fold) ?? []) positions.push({ rank, node: next, exact: undefined });
    const next = node.children.get(fold);
    if (next) positions.push({ rank, node: next, exact: exact?.children.get(name) });
  }
  return enter(positions, place);
}

/**
 * An element of a list. Servers also accept a list where they expect a value: pointers to members also match those of
 * elements.
 */
export function element(place: Place, index: number | string): Place {
  const stepped = member(place, String(index));
  if (!place.leadsOn) return stepped;
  const known = new Set(stepped.positions.map(({ node }) => node));
  const others = place.positions
    .filter(({ node }) => !known.has(node))
    .map(({ rank, node }) => ({ rank, node, exact: undefined, isAround: true }));
  return { ...stepped, leadsOn: true, positions: [...stepped.positions, ...others] };
}

/**
 * The position of this value, if pointers lead into it. Servers accept the only element of a list without the list, and
 * a text instead of the JSON, YAML or form in it: for such a text the strictest declaration below applies.
 */
export function placeOf(place: Place, value: unknown): Place {
  if (!place.leadsOn || place.isRoot || Array.isArray(value)) return place;
  const firsts: Position[] = [];
  for (const { rank, node, isAround } of place.positions) {
    const first = node.children.get("0");
    if (first && isAround !== true) firsts.push({ rank, node: first, exact: undefined });
  }
  const only = firsts.length === 0 ? place : enter(firsts, place);
  const positions = firsts.length === 0 ? place.positions : [...place.positions, ...only.positions];
  if (typeof value !== "string") return { ...only, leadsOn: true, positions };
  let rule = ruleAt(only);
  for (const { node, isAround } of positions) {
    // In a list with declarations for single elements, a text is just such an element.
    const mayHold = isAround !== true || node.isNamed || JSON_START.test(value);
    if (node.below && mayHold) rule = stricter(rule, node.below);
  }
  return { leadsOn: false, positions: [], isRoot: false, own: rule, all: undefined };
}

function enter(positions: readonly Position[], { own, all }: Inherited): Place {
  const rules = { own, all };
  for (const { rank, node, exact } of positions) {
    // The exact rule of several that differ in form; another form exposes nothing new.
    rules[rank] = exact?.rule ?? (node.closed ? stricter(rules[rank], node.closed) : rules[rank]);
  }
  const leading = positions.filter(({ node }) => node.children.size > 0);
  return { leadsOn: leading.length > 0, positions: leading, isRoot: false, ...rules };
}

type Inherited = Pick<Place, "own" | "all">;

/** The first one if both are equally strict. */
function stricter(first: Rule | undefined, second: Rule): Rule {
  return first === undefined || strictness(second) > strictness(first) ? second : first;
}

function strictness({ treatment }: Rule): number {
  return TREATMENTS.indexOf(treatment);
}

/** The declaration, and its pointer; undefined: there is none. */
export function declaredAt(place: Place): Pick<Rule, "treatment" | "pointer"> | undefined {
  return ruleAt(place);
}

function ruleAt({ own, all }: Inherited): Rule | undefined {
  if (own && all) return all.depth > own.depth ? stricter(own, all) : own;
  return own ?? all;
}

/** Whether a declaration has this exact name: then it is not secret. */
export function namesExactly({ positions }: Place, name: string): boolean {
  return positions.some(({ exact }) => exact?.children.has(name) === true);
}
