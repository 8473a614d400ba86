/**
 * One request to one member, with its whole response: for lists, sessions and probes. Calls are relayed message by message
 * (relay.ts).
 *
 * Untrusted input: the member's response. Promises: bounded in bytes and time; settles exactly once.
 */
import { EventBlocks, type EventBlock } from "../../mcp/lists/event-blocks.ts";
import { encodeMirror, isJsonMediaType, isParam } from "../../mcp/message-headers.ts";
import { MODERN } from "../../mcp/federation/eras.ts";
import { idText, readMessage, recordOf, writeMessage, type MessageJson } from "../../mcp/federation/json.ts";
import { writeCall, type RawArguments } from "../../mcp/federation/raw-arguments.ts";
import type { McpMessage } from "../../mcp/message.ts";
import { isAboutTask } from "../../mcp/tasks/task-requests.ts";
import { guard } from "../../shared/faults/guard.ts";
import { allHeaders } from "../../shared/http/header-lookup.ts";
import { isEventStream } from "../forwarding/response-headers.ts";
import type { PreparedRoute } from "../prepared-route.ts";
import type { RequestContext } from "../request-context.ts";
import { MemberExchange, type MemberReceiver } from "./member-exchange.ts";

export interface RouteMember {
  readonly prefix: string;
  readonly prepared: PreparedRoute;
}

/** Walks the member route's steps for this exchange, with the caller of the federated request. */
export type RunMember = (exchange: MemberExchange, member: RouteMember, caller: RequestContext) => void;

export interface Outgoing {
  readonly method: "POST" | "GET" | "DELETE";
  readonly message?: MessageJson;
  /** A call that is written already, instead of a message. */
  readonly call?: McpMessage | undefined;
  /** Arguments of a tool that the message calls. */
  readonly args?: RawArguments | undefined;
  /** Negotiated revision. */
  readonly version: string;
  /** The member's session, as its route sealed it. */
  readonly session?: string | undefined;
  /** Name or URI in the client's message, for the record. */
  readonly calledAs?: string | undefined;
  /** The last event that a resumed stream had. */
  readonly lastEventId?: string | undefined;
}

export interface MemberAnswer {
  readonly status: number;
  readonly session: string | undefined;
  /** Every message of the response; [] for none. */
  readonly messages: readonly MessageJson[];
  /** Bytes of the response. */
  readonly size: number;
}

/** Why there is no answer, for the log. */
export type MemberFailure = "timeout" | "aborted" | "overloaded" | "too-large" | "unreadable";

const MAX_BYTES = 8 * 1024 * 1024;
/** A longer one is none: it goes back to the member in a header. */
const MAX_EVENT_ID = 1_024;

export function openMember(
  run: RunMember,
  caller: RequestContext,
  member: RouteMember,
  { method, message, call: written, args, version, session, calledAs = "", lastEventId }: Outgoing,
  receiver: MemberReceiver,
): MemberExchange {
  const { route } = member.prepared;
  const isModern = version >= MODERN;
  const call = written ?? (message && args && writeCall(message, args, isModern));
  const body = call ? call.bytes : message && writeMessage(message);
  const headers = [
    "accept",
    method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
    "mcp-protocol-version",
    version,
  ];
  if (body) headers.push("content-type", "application/json", "content-length", String(body.length));
  if (session !== undefined) headers.push("mcp-session-id", session);
  if (lastEventId !== undefined) headers.push("last-event-id", lastEventId);
  if (call && isModern) headers.push("mcp-method", "tools/call", "mcp-name", encodeMirror(call.facts.tool ?? ""));
  else if (message && isModern) addMirrors(headers, message);
  const repeatsArguments = (call !== undefined || message?.["method"] === "tools/call") && addParams(headers, caller);
  addTrace(headers, caller);
  const exchange = new MemberExchange(
    caller,
    {
      method,
      host: route.host,
      path: endpointPath(member),
      headers,
      body,
      calledAs,
      // Headers that repeat arguments are compared with them.
      message: repeatsArguments ? undefined : call,
    },
    receiver,
  );
  run(exchange, member, caller);
  return exchange;
}

/** Headers that repeat arguments of the client's call, which are the member's as well. @returns false for none */
function addParams(headers: string[], { exchange }: RequestContext): boolean {
  const { rawHeaders } = exchange;
  const { length } = headers;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (isParam(name)) headers.push(name.toLowerCase(), rawHeaders[at + 1] as string);
  }
  return headers.length > length;
}

function addTrace(headers: string[], { trace, exchange }: RequestContext): void {
  const traceparent = trace?.traceparent ?? exchange.header("traceparent");
  if (traceparent === undefined) return;
  const tracestate = trace?.tracestate ?? exchange.header("tracestate") ?? "";
  headers.push("traceparent", traceparent);
  if (tracestate !== "") headers.push("tracestate", tracestate);
}

function endpointPath({ prepared: { route } }: RouteMember): string {
  const path = route.mcp?.kind === "server" ? route.base + route.mcp.path : route.base;
  return path === "" ? "/" : path;
}

function addMirrors(headers: string[], message: MessageJson): void {
  const { name, uri, taskId } = recordOf(message["params"]);
  const method = String(message["method"]);
  const named = method === "resources/read" ? uri : isAboutTask(method) ? taskId : name;
  headers.push("mcp-method", method);
  if (typeof named === "string") headers.push("mcp-name", encodeMirror(named));
}

export function askMember(
  run: RunMember,
  caller: RequestContext,
  member: RouteMember,
  outgoing: Outgoing,
  timeoutMs: number,
): Promise<MemberAnswer | MemberFailure> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let status = 0;
    let headers: readonly string[] = [];
    let isSettled = false;
    const settle = (outcome: MemberAnswer | MemberFailure): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      resolve(outcome);
      if (typeof outcome === "string") exchange?.abort();
    };
    const timer = setTimeout(
      guard(caller.exchange, () => settle("timeout")),
      timeoutMs,
    );
    let exchange: MemberExchange | undefined;
    exchange = openMember(run, caller, member, outgoing, {
      onHead(code, given) {
        status = code;
        headers = given;
      },
      onData(chunk) {
        size += chunk.length;
        if (size > MAX_BYTES) settle("too-large");
        else chunks.push(chunk);
        return true;
      },
      get heldBytes() {
        return size;
      },
      onEnd(complete, isOverloaded) {
        if (!complete) return settle(isOverloaded === true ? "overloaded" : "aborted");
        const messages = readAnswer(headers, Buffer.concat(chunks));
        const [session] = allHeaders(headers, "mcp-session-id");
        settle(messages === undefined ? "unreadable" : { status, session, messages, size });
      },
    });
  });
}

function readAnswer(headers: readonly string[], body: Buffer): readonly MessageJson[] | undefined {
  const [type = ""] = allHeaders(headers, "content-type");
  if (body.length === 0) return [];
  if (isEventStream(type)) {
    const messages = [...eventsIn(new EventBlocks(MAX_BYTES).push(body) ?? [])].map(({ message }) => message);
    return messages.every((each) => each !== undefined) ? messages.filter((each) => each !== "none") : undefined;
  }
  if (!isJsonMediaType(type)) return [];
  const message = readMessage(body);
  return message && [message];
}

export class MemberEvent {
  readonly data: Buffer;
  readonly id: string | undefined;
  /** Time after which the member wants to be asked again, in milliseconds. */
  readonly retryMs: number | undefined;

  constructor({ data, others }: Extract<EventBlock, { kind: "event" }>) {
    const id = fieldOf(others, "id:");
    const retry = Number(fieldOf(others, "retry:") ?? Number.NaN);
    this.data = data;
    this.id = id !== undefined && id.length > MAX_EVENT_ID ? undefined : id;
    this.retryMs = Number.isFinite(retry) ? retry : undefined;
  }

  /** Parsed at each use. Undefined: it is not a message; "none": the event only has an ID. */
  get message(): MessageJson | "none" | undefined {
    return this.data.length === 0 ? "none" : readMessage(this.data);
  }
}

export function* eventsIn(blocks: readonly EventBlock[]): Iterable<MemberEvent> {
  for (const block of blocks) if (block.kind === "event") yield new MemberEvent(block);
}

function fieldOf(lines: readonly string[], name: string): string | undefined {
  const value = lines
    .findLast((line) => line.startsWith(name))
    ?.slice(name.length)
    .trim();
  return value === "" ? undefined : value;
}

/** The response to this request among the messages. */
export function answerTo(answer: MemberAnswer, id: unknown): MessageJson | undefined {
  const own = idText(id);
  return answer.messages.find((message) => message["method"] === undefined && idText(message["id"]) === own);
}
