/** Requests to a route that its policies distinguish: messages of an MCP server, HTTP requests otherwise. */
import type { Facts, McpFacts } from "../../policy/facts.ts";
import type { ArgumentMatch } from "../../policy/mcp/argument-match.ts";
import type { StringMatch } from "../../policy/match.ts";
import type { ToolClasses } from "../../policy/mcp/tool-classes.ts";
import type { ListedItem } from "../../policy/reach.ts";
import type { Leaf } from "../../policy/tree.ts";
import { upperAscii } from "../../shared/ascii.ts";
import { canonicalPath } from "../../shared/http/target.ts";
import { type Filling, freshText, plainFilling, samplesOf, type TextSample, unique } from "./samples.ts";

/** In display order. */
export const ITEM_KINDS = ["message", "tool", "prompt", "resource", "method", "request"] as const;

export interface Item {
  readonly kind: (typeof ITEM_KINDS)[number];
  /** As shown: a tool's name, "tools whose name begins with …". */
  readonly name: string;
  /** Represents all items of its kind that no rule names. */
  readonly isRest: boolean;
  readonly http: Pick<Facts["http"], "method" | "path" | "isCorsPreflight">;
  /** Without arguments. */
  readonly mcp?: McpFacts;
  /** The item in a list of the server. */
  readonly listed?: ListedItem;
}

const FRESH = ["another", "q7kz", "0", "jv-8"];
const resourceFilling: Filling = ({ start, middle, end }) => {
  const text = `${start}${middle}${end === "" && start !== "" ? "x" : ""}${end}`;
  return start === "" ? `other://x/${text.replace(/^\/+/, "")}` : text;
};
/** Returns the first matching text: a narrower route may take some paths with this prefix. */
function pathFilling(matches: (path: string) => boolean): Filling {
  return ({ start, middle, end }) => {
    const texts = [end === "" ? "x" : "", ...FRESH].map((filler) => {
      const text = `${start}${middle}${filler}${end}`;
      return text.startsWith("/") ? text : `/${start === "" ? "x" : ""}${text}`;
    });
    return texts.find(matches) ?? texts[0] ?? "/";
  };
}

/** @param path of the server's endpoint @param classes of its tools on each side */
export function messagesOf(leaves: readonly Leaf[], path: string, classes: readonly ToolClasses[]): readonly Item[] {
  const http = { method: "POST", path };
  const of = (name: string): readonly StringMatch[] =>
    leaves.flatMap((leaf) => (leaf.criterion.name === name ? [leaf.data as StringMatch] : []));
  const ofArguments = leaves.flatMap((leaf) =>
    leaf.criterion.name === "mcp_tool_argument" ? [(leaf.data as ArgumentMatch).tool] : [],
  );
  const tools = named([...of("mcp_tool"), ...ofArguments], FRESH);
  const known = new Set(tools.map(({ text }) => text));
  const messages = named(of("mcp_method"), FRESH);
  const general = "initialize";
  const item = (kind: Item["kind"], mcp: McpFacts, sample: Sample, listed?: ListedItem): Item => ({
    kind,
    name: sample.how === undefined ? sample.text : `whose ${kind === "resource" ? "URI" : "name"} ${sample.how}`,
    isRest: sample.isRest,
    http,
    mcp,
    ...(listed && { listed }),
  });
  const methods = messages.filter(({ text }) => !ABOUT_ITEMS.has(text) && text !== general);
  return [
    item("message", { method: general }, { text: general, isRest: false }),
    ...tools.map((each) =>
      item("tool", { method: "tools/call", tool: each.text }, each, { kind: "tool", name: each.text }),
    ),
    ...classified(classes, known).map(({ tool, name }) => ({
      ...item("tool", { method: "tools/call", tool }, { text: tool, isRest: false }, { kind: "tool", name: tool }),
      name,
    })),
    ...named(of("mcp_prompt"), FRESH).map((each) =>
      item("prompt", { method: "prompts/get", prompt: each.text }, each, { kind: "prompt", name: each.text }),
    ),
    ...named(of("mcp_resource"), ["other://another/one", "q7kz:0"], resourceFilling).map((each) =>
      item("resource", { method: "resources/read", resource: each.text }, each, { kind: "resource", uri: each.text }),
    ),
    ...methods.map((each) => item("method", { method: each.text }, each)),
  ];
}

/** One tool for all with the same classes on both sides. */
function classified(
  classes: readonly ToolClasses[],
  known: ReadonlySet<string>,
): readonly { readonly tool: string; readonly name: string }[] {
  const tools = [...new Set(classes.flatMap((each) => [...each.keys()]))].filter((tool) => !known.has(tool)).toSorted();
  const groups = Map.groupBy(tools, (tool) =>
    JSON.stringify(classes.map((each) => each.get(tool)?.toSorted() ?? null)),
  );
  return [...groups.values()].map(([tool = "", ...others]) => ({
    tool,
    name: others.length === 0 ? tool : `${tool} and ${others.length} more of its classes`,
  }));
}

/** Methods whose every message concerns an item of its own. */
const ABOUT_ITEMS: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);

const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

/**
 * @param receives whether the route receives requests for a path @param path a path of the route that no rule needs to
 *   name
 */
export function requestsOf(
  leaves: readonly Leaf[],
  path: string,
  receives: (path: string) => boolean,
): readonly Item[] {
  const of = (name: string): readonly StringMatch[] =>
    leaves.flatMap((leaf) => (leaf.key === name ? [leaf.data as StringMatch] : []));
  const methods = named(of("http_method"), METHODS).map((each) => ({ ...each, text: upperAscii(each.text) }));
  const sibling = path.endsWith("/") ? `${path}another` : `${path}/another`;
  const matches = (text: string): boolean => isCanonical(text) && receives(text);
  const paths = named(of("http_path"), [path, sibling, `${sibling}-q7kz`], pathFilling(matches)).filter(
    ({ text, isRest }) => isRest || matches(text),
  );
  const spoken = { method: methods.length > 1, path: paths.length > 1 };
  const requests = paths.flatMap((at) =>
    methods.map((by): Item => ({
      kind: "request",
      name: requestName(spoken.method ? by : undefined, spoken.path ? at : undefined),
      isRest: by.isRest && at.isRest,
      http: { method: by.text, path: at.text },
    })),
  );
  if (!leaves.some(({ key }) => key === "cors_preflight")) return requests;
  const preflight = { method: "OPTIONS", path, isCorsPreflight: true };
  return [...requests, { kind: "request", name: "CORS preflights", isRest: false, http: preflight }];
}

function requestName(method: Sample | undefined, path: Sample | undefined): string {
  const by = method === undefined ? "" : method.isRest ? " by other methods" : ` by ${method.how ?? method.text}`;
  const at =
    path === undefined
      ? ""
      : path.isRest
        ? " for other paths"
        : ` for ${path.how === undefined ? path.text : `a path that ${path.how}`}`;
  return `requests${by}${at}`;
}

interface Sample extends TextSample {
  readonly isRest: boolean;
}

/** Texts that the matchers name, and one that represents all others. */
function named(
  matches: readonly StringMatch[],
  fresh: readonly string[],
  fill: Filling = plainFilling,
): readonly Sample[] {
  const exact = new Set(
    matches.flatMap(({ is, not, in: list = [], not_in: others = [] }) => [is, not, ...list, ...others]),
  );
  // A name in one rule must not serve as the example for another rule's prefix.
  const sibling: Filling = (pieces) => {
    const text = fill(pieces);
    return exact.has(text) ? fill({ ...pieces, middle: `${pieces.middle}q7kz` }) : text;
  };
  const samples = unique(
    matches.flatMap((match) => samplesOf(match, sibling)),
    ({ text }) => text,
  );
  return [...samples.map((each) => ({ ...each, isRest: false })), { text: freshText(matches, fresh), isRest: true }];
}

function isCanonical(path: string): boolean {
  const read = canonicalPath(path);
  return read.ok && read.path === path;
}
