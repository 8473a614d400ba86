/**
 * Conditions of a route on method, headers and query: `match_methods`, `match_headers`, `match_query`.
 *
 * Routes of one host and path are tried by precedence: those with methods first, then those with more headers, then with
 * more query parameters, then by `match_priority_order`. The route without conditions takes the rest.
 */
import type { MatchConditions } from "./compiled.ts";
import type { RoutingDoc } from "./settings.ts";

/** Part of a request that conditions read. */
export interface MatchedRequest {
  /** Upper case. */
  readonly method: string;
  /** With its "?"; "" when none. */
  readonly query: string;
  /** Undefined when absent or when its values differ. */
  header(lowerName: string): string | undefined;
}

type ConditionsDoc = Pick<RoutingDoc, "match_methods" | "match_headers" | "match_query" | "match_priority_order">;

/** Reads each part of a request once, however many routes ask for it. */
export class AskedRequest {
  readonly #request: MatchedRequest;
  readonly #headers = new Map<string, string | undefined>();
  #parameters: ReadonlyMap<string, string> | undefined;

  constructor(request: MatchedRequest) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  header(lowerName: string): string | undefined {
    if (!this.#headers.has(lowerName)) this.#headers.set(lowerName, this.#request.header(lowerName));
    return this.#headers.get(lowerName);
  }

  /** The first of repeated parameters counts. */
  parameter(name: string): string | undefined {
    this.#parameters ??= new Map([...new URLSearchParams(this.#request.query)].reverse());
    return this.#parameters.get(name);
  }
}

const known = new WeakMap<MatchedRequest, AskedRequest>();

export function askedOf(request: MatchedRequest): AskedRequest {
  let asked = known.get(request);
  if (!asked) known.set(request, (asked = new AskedRequest(request)));
  return asked;
}

export function compileConditions(doc: Partial<ConditionsDoc>): MatchConditions | undefined {
  const { match_methods: methods, match_headers: headers, match_query: query } = doc;
  // Most routes, each of which is compared with others.
  if (methods === undefined && headers === undefined && query === undefined) return undefined;
  const parts = {
    methods: new Set(methods),
    headers: Object.entries(headers ?? {}).map(([name, value]): [string, string] => [name.toLowerCase(), value]),
    query: Object.entries(query ?? {}),
  };
  if (parts.methods.size === 0 && parts.headers.length === 0 && parts.query.length === 0) return undefined;
  const text = JSON.stringify([[...parts.methods], parts.headers, parts.query]);
  return { ...parts, priority: doc.match_priority_order ?? 0, text };
}

/** Equal for conditions that match the same requests; "" without conditions. */
export function conditionsText(doc: Partial<ConditionsDoc>): string {
  const conditions = compileConditions(doc);
  if (!conditions) return "";
  const { methods, headers, query } = conditions;
  const sorted = (pairs: MatchConditions["headers"]): unknown => pairs.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([[...methods].toSorted(), sorted(headers), sorted(query)]);
}

/** @param request undefined: only the address is known, so that no condition is met */
export function meets({ methods, headers, query }: MatchConditions, request: AskedRequest | undefined): boolean {
  if (request === undefined) return false;
  if (methods.size > 0 && !methods.has(request.method)) return false;
  for (const [name, value] of headers) if (request.header(name) !== value) return false;
  for (const [name, value] of query) if (request.parameter(name) !== value) return false;
  return true;
}

/** A request that meets these conditions, for questions about a route; undefined without conditions. */
export function exampleRequest(conditions: MatchConditions | undefined): MatchedRequest | undefined {
  if (!conditions) return undefined;
  const headers = new Map(conditions.headers);
  const query = new URLSearchParams(conditions.query.map(([name, value]) => [name, value]));
  return {
    method: [...conditions.methods][0] ?? "GET",
    query: query.size === 0 ? "" : `?${query.toString()}`,
    header: (name) => headers.get(name),
  };
}

/** Negative if the first one is tried before the second. */
export function byConditions(a: MatchConditions | undefined, b: MatchConditions | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return (
    Number(b.methods.size > 0) - Number(a.methods.size > 0) ||
    b.headers.length - a.headers.length ||
    b.query.length - a.query.length ||
    b.priority - a.priority ||
    (a.text === b.text ? 0 : a.text < b.text ? -1 : 1)
  );
}
