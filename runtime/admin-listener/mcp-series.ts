/**
 * `mcp.server.operation.duration` of OpenTelemetry's semantic conventions for MCP, in Prometheus notation.
 *
 * Untrusted input: names of tools and prompts, and the set of operations. Promises: one route's clients spoil at most
 * the labels of their own route. Names appear only once a server has responded to them. The number of both is bounded.
 */
import { DurationCounts } from "../shared/timing/duration-counts.ts";
import { histogram, type Series } from "./series.ts";

/** Labels of a counted operation. */
export interface CountedOperation {
  readonly method: string;
  readonly tool: string | undefined;
  readonly prompt: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly httpVersion: string;
  readonly isGood: boolean;
  readonly code: string | undefined;
  readonly errorType: string | undefined;
}

export interface McpOperations {
  add(route: string, operation: CountedOperation, durationMs: number): void;
  /** Deletes all other routes. */
  keepRoutes(routes: ReadonlySet<string>): void;
  readonly series: Series;
}

/** As in the conventions. */
const BUCKETS_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const BUCKETS_MS = BUCKETS_SECONDS.map((seconds) => seconds * 1000);
/** Sets of labels of all routes; also the limit of OpenTelemetry's SDKs per metric. */
const MAX_SETS = 2_000;
const MAX_SETS_OF_ROUTE = 200;
/** Tools and prompts. */
const MAX_NAMES_OF_ROUTE = 100;
const MAX_NAME = 128;
const OTHER = "_OTHER";

interface Counted {
  /** Apart from names, which may be long. */
  readonly operation: Omit<CountedOperation, "tool" | "prompt" | "isGood">;
  readonly labels: Readonly<Record<string, string>>;
  readonly durations: DurationCounts;
}

interface RouteOperations {
  /** By the name of tool or prompt; "" for operations without one. */
  readonly byName: Map<string, Counted[]>;
  sets: number;
  readonly names: Set<string>;
  /** Operations over the bound. */
  rest: Omit<Counted, "operation"> | undefined;
}

export function createMcpOperations(): McpOperations {
  const routes = new Map<string, RouteOperations>();
  let sets = 0;

  return {
    add(route, operation, durationMs) {
      let known = routes.get(route);
      if (!known) routes.set(route, (known = { byName: new Map(), sets: 0, names: new Set(), rest: undefined }));
      find(route, known, operation).durations.add(durationMs);
    },
    keepRoutes(kept) {
      for (const [route, known] of routes) {
        if (kept.has(route)) continue;
        sets -= known.sets;
        routes.delete(route);
      }
    },
    series: {
      name: "mcp_server_operation_duration_seconds",
      help: "Duration of requests and notifications of MCP clients, from the first byte to the end of the response (OpenTelemetry conventions for MCP).",
      type: "histogram",
      *read() {
        for (const { byName, rest } of routes.values()) {
          for (const own of byName.values())
            for (const { labels, durations } of own) yield* histogram(labels, durations);
          if (rest) yield* histogram(rest.labels, rest.durations);
        }
      },
    },
  };

  function find(route: string, known: RouteOperations, operation: CountedOperation): Omit<Counted, "operation"> {
    const name = operation.tool ?? operation.prompt ?? "";
    const repeated = findSame(known.byName.get(name), operation);
    if (repeated) return repeated;
    const tool = nameIn(known, operation.tool, operation.isGood);
    const prompt = nameIn(known, operation.prompt, operation.isGood);
    const counted = tool ?? prompt ?? "";
    const own = known.byName.get(counted) ?? [];
    const found = findSame(own, operation);
    if (found) return found;
    if (known.sets >= MAX_SETS_OF_ROUTE || sets >= MAX_SETS)
      return (known.rest ??= emptyCount({ gateway_route: route, otel_metric_overflow: "true" }));
    sets += 1;
    known.sets += 1;
    const { method, protocolVersion, httpVersion, errorType, code } = operation;
    const added: Counted = {
      operation: { method, protocolVersion, httpVersion, errorType, code },
      ...emptyCount(labelsOf(route, operation, tool, prompt)),
    };
    own.push(added);
    known.byName.set(counted, own);
    return added;
  }
}

/** Compares texts instead of looking up one made of all of them, which V8 would have to join and hash. */
function findSame(sets: readonly Counted[] | undefined, wanted: CountedOperation): Counted | undefined {
  if (sets === undefined) return undefined;
  const { method, errorType, protocolVersion, httpVersion, code } = wanted;
  for (const each of sets) {
    const { operation: own } = each;
    const isSame =
      own.method === method &&
      own.protocolVersion === protocolVersion &&
      own.httpVersion === httpVersion &&
      own.errorType === errorType &&
      own.code === code;
    if (isSame) return each;
  }
  return undefined;
}

/** A name that a server has responded to; others are text from the client. */
function nameIn({ names }: RouteOperations, name: string | undefined, isGood: boolean): string | undefined {
  if (name === undefined || names.has(name)) return name;
  if (!isGood || names.size >= MAX_NAMES_OF_ROUTE || name.length > MAX_NAME || !PLAIN.test(name)) return OTHER;
  names.add(name);
  return name;
}

const PLAIN = /^[\x21-\x7e]+$/;

function labelsOf(
  route: string,
  { method, protocolVersion, httpVersion, code, errorType }: CountedOperation,
  tool: string | undefined,
  prompt: string | undefined,
): Counted["labels"] {
  return {
    gateway_route: route,
    mcp_method_name: method,
    ...(tool !== undefined && { gen_ai_operation_name: "execute_tool", gen_ai_tool_name: tool }),
    ...(prompt !== undefined && { gen_ai_prompt_name: prompt }),
    ...(errorType !== undefined && { error_type: errorType }),
    ...(code !== undefined && { rpc_response_status_code: code }),
    ...(protocolVersion !== undefined && { mcp_protocol_version: protocolVersion }),
    network_transport: "tcp",
    network_protocol_name: "http",
    network_protocol_version: httpVersion,
  };
}

function emptyCount(labels: Counted["labels"]): Omit<Counted, "operation"> {
  return { labels, durations: new DurationCounts(BUCKETS_MS) };
}
