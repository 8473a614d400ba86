/** The works: what is asked, by which path, and what the right response is. */
import { itemsRequest, postRequest } from "../common/requests.ts";
import { type Credentials, NO_CREDENTIAL, type Running, type User, type Variant, type WorkName } from "./contender.ts";
import { DENIED_PREFIX, DENIED_TOOLS, EVENTS, ITEMS_BYTES, ROUTES, TOOLS } from "./sizes.ts";

export const MANY = 32;

export interface Work {
  readonly name: WorkName;
  readonly title: string;
  readonly variant: Variant;
  /** One after the other. */
  readonly connections: readonly number[];
  /** A rule on the tool's name applies. */
  readonly hasToolRule?: true;
}

export const WORKS: readonly Work[] = [
  { name: "get", title: "GET of 1 KiB with a session or token", variant: "plain", connections: [MANY, 1] },
  { name: "mcp", title: "MCP `tools/call`, 4 KiB back", variant: "plain", connections: [MANY, 1] },
  {
    name: "tool",
    title: "the same, with a rule on the tool's name",
    variant: "plain",
    connections: [MANY, 1],
    hasToolRule: true,
  },
  {
    name: "list",
    title: `MCP \`tools/list\` of ${TOOLS} tools, ${DENIED_TOOLS} of them hidden`,
    variant: "plain",
    connections: [MANY],
    hasToolRule: true,
  },
  { name: "sse", title: `MCP \`tools/call\` answered by ${EVENTS} events`, variant: "plain", connections: [MANY] },
  { name: "routes", title: `GET with ${ROUTES.toLocaleString("en")} routes`, variant: "routes", connections: [MANY] },
  { name: "http2", title: "GET over TLS and HTTP/2", variant: "tls", connections: [MANY] },
];

export const isMcp = ({ name }: Work): boolean => ["mcp", "tool", "list", "sse"].includes(name);

export interface Question {
  readonly path: string;
  /** A line of headers. */
  readonly credential: string;
  /** Of a POST. */
  readonly body?: string;
}

/** @param tool another one than the work's own */
export function questionOf(
  work: Work,
  running: Running,
  credentials: Credentials | undefined,
  tool?: string,
): Question {
  const paths = { mcp: "/mcp", tool: "/tool", ...running.paths };
  if (!isMcp(work)) return { path: "/web/items", credential: credentials?.web ?? NO_CREDENTIAL };
  const kind = work.hasToolRule === true ? "tool" : "mcp";
  const asked = tool ?? (work.name === "sse" ? "stream_events" : "get_issue");
  const name = running.toolName?.(asked) ?? asked;
  const message =
    work.name === "list" && tool === undefined
      ? { method: "tools/list", params: {} }
      : { method: "tools/call", params: { name, arguments: { repository: "gateway", number: 7 } } };
  return {
    path: paths[kind],
    credential: credentials?.[kind] ?? NO_CREDENTIAL,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  };
}

export function bytesOf(port: number, { path, credential, body }: Question): Buffer {
  if (body === undefined) return itemsRequest(port, `accept: application/json\r\n${credential}`, path);
  return postRequest(port, path, `mcp-protocol-version: 2025-06-18\r\n${credential}`, body);
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  /** Between the first part of the body and the last. */
  readonly streamedMs: number;
}

/** @returns what is wrong with an answer that must be the right one, or undefined */
export function wrongWith(work: Work, answer: Answered, showsAllTools: boolean): string | undefined {
  const { status, text } = answer;
  if (status !== 200) return `answered ${status}: ${text.slice(0, 200)}`;
  if (work.name === "sse") {
    const events = [...text.matchAll(/^data: \{/gm)].length;
    if (events !== EVENTS) return `answered with ${events} events, must be ${EVENTS}`;
    return answer.streamedMs < 100 ? "held back the events until the last one" : undefined;
  }
  if (!isMcp(work)) return text.length === ITEMS_BYTES ? undefined : `answered with ${text.length} bytes`;
  const result = resultOf(text);
  if (work.name === "list") {
    const names = ((result?.["tools"] ?? []) as readonly { name: string }[]).map(({ name }) => name);
    const expected = showsAllTools ? TOOLS : TOOLS - DENIED_TOOLS;
    const denied = names.filter((name) => name.replaceAll("-", "_").includes(DENIED_PREFIX)).length;
    if (names.length === expected && denied === (showsAllTools ? DENIED_TOOLS : 0)) return undefined;
    return `listed ${names.length} tools, ${denied} of them denied`;
  }
  const [content] = (result?.["content"] ?? []) as readonly { text?: string }[];
  return (content?.text?.length ?? 0) > 3900 ? undefined : `answered ${text.slice(0, 200)}`;
}

/** Denied at all, by a status or by an error of MCP. */
export function isRefusal({ status, text }: Answered): boolean {
  if (status >= 300) return true;
  return /"error":\s*\{|"isError":\s*true/.test(text) && !text.includes("xxxxxxxx");
}

/** Of JSON, or of the one event that holds it. */
function resultOf(text: string): Record<string, unknown> | undefined {
  const [, data] = /^data: (.*)$/m.exec(text) ?? [];
  try {
    const { result } = JSON.parse(data ?? text) as { result?: Record<string, unknown> };
    return result;
  } catch {
    return undefined;
  }
}

export const REFUSED: readonly { readonly who: string; readonly user?: User }[] = [
  { who: "another user", user: "bob" },
  { who: "a request without credentials" },
];
