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
  readonly labels: Readonly<Record<string, string>>;
  readonly durations: DurationCounts;
}

interface RouteOperations {
  readonly sets: Map<string, Counted>;
  readonly names: Set<string>;
  /** Operations over the bound. */
  rest: Counted | undefined;
}

export function createMcpOperations(): McpOperations {
  const routes = new Map<string, RouteOperations>();
  let sets = 0;

  return {
    add(route, operation, durationMs) {
      let known = routes.get(route);
      if (!known) routes.set(route, (known = { sets: new Map(), names: new Set(), rest: undefined }));
      find(route, known, operation).durations.add(durationMs);
    },
    keepRoutes(kept) {
      for (const [route, known] of routes) {
        if (kept.has(route)) continue;
        sets -= known.sets.size;
        routes.delete(route);
      }
    },
    series: {
      name: "mcp_server_operation_duration_seconds",
      help: "Duration of requests and notifications of MCP clients, from the first byte to the end of the response (OpenTelemetry conventions for MCP).",
      type: "histogram",
      *read() {
        for (const { sets: own, rest } of routes.values()) {
          for (const { labels, durations } of own.values()) yield* histogram(labels, durations);
          if (rest) yield* histogram(rest.labels, rest.durations);
        }
      },
    },
  };

  function find(route: string, known: RouteOperations, operation: CountedOperation): Counted {
    const tool = nameIn(known, operation.tool, operation.isGood);
    const prompt = nameIn(known, operation.prompt, operation.isGood);
    const { method, protocolVersion = "", httpVersion, errorType = "" } = operation;
    // Names have no blanks.
    const key = `${method} ${tool ?? prompt ?? ""} ${errorType} ${protocolVersion} ${httpVersion} ${operation.code ?? ""}`;
    const counted = known.sets.get(key);
    if (counted) return counted;
    if (known.sets.size >= MAX_SETS_OF_ROUTE || sets >= MAX_SETS)
      return (known.rest ??= emptyCount({ gateway_route: route, otel_metric_overflow: "true" }));
    sets += 1;
    const added = emptyCount(labelsOf(route, operation, tool, prompt));
    known.sets.set(key, added);
    return added;
  }
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

function emptyCount(labels: Counted["labels"]): Counted {
  return { labels, durations: new DurationCounts(BUCKETS_MS) };
}
