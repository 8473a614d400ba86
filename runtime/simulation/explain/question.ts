/** A hypothetical request, from the command line or the console's simulator: its parts, and whether it is valid. */
import { isIP } from "node:net";

import type { MessageHeaders } from "../../mcp/message-headers.ts";
import { parseMessage } from "../../mcp/message.ts";
import { DEVICE_TYPES } from "../../policy/device-match.ts";
import type { CertificateFacts, DeviceFacts, Facts, McpFacts, UserFacts } from "../../policy/facts.ts";
import { canonicalPath, otherReadings } from "../../shared/http/target.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { ExplainedRoute } from "./explained-route.ts";

/** Texts as entered by users. */
export interface Question {
  readonly user: string;
  readonly email: string;
  /** Comma separated. */
  readonly groups: string;
  /** "name=value" each; repeated names add values. Names may be paths ("realm/roles"). */
  readonly claim?: readonly string[];
  /** User ID of the workload that acts for the user in an agent run. */
  readonly actor?: string;
  /** Its claims, "name=value" each; repeated names add values. */
  readonly actorClaim?: readonly string[];
  readonly anonymous?: boolean;
  /** Id of a registered device that the session verified; each of these three settings assumes one. */
  readonly device?: string;
  readonly deviceApproved?: boolean;
  readonly deviceType?: string;
  /** A `tools/call` of this tool. */
  readonly tool?: string;
  /** Its arguments as JSON; absent: unknown. */
  readonly arguments?: string;
  /** A `prompts/get` of this prompt. */
  readonly prompt?: string;
  /** A `resources/read` of this URI. */
  readonly resource?: string;
  readonly mcpMethod?: string;
  readonly method: string;
  readonly path: string;
  /** Requested host, for a wildcard route. */
  readonly host?: string;
  /** Address of the peer. */
  readonly ip?: string;
  /** A CORS preflight. */
  readonly preflight?: boolean;
}

export type QuestionReading =
  | { readonly ok: true; readonly facts: Facts }
  /** Why the question is invalid, or why the gateway would reject the message. */
  | { readonly ok: false; readonly problem: string };

/**
 * The facts that the proxy would have.
 *
 * @param known the user as known to the gateway, instead of `user`, `email`, `groups` and `claim`
 */
export function readQuestion(
  question: Question,
  route: ExplainedRoute,
  {
    certificate,
    known,
  }: { readonly certificate?: CertificateFacts | undefined; readonly known?: UserFacts | undefined } = {},
): QuestionReading {
  const problem = problemOf(question, route);
  if (problem !== undefined) return { ok: false, problem };
  const message = route.isMcpServer ? readMessage(question, route) : {};
  if (typeof message === "string") return { ok: false, problem: message };
  const path = readPath(question.path);
  const otherPaths = otherReadings(path);
  const isCorsPreflight = question.preflight === true;
  const http = {
    method: isCorsPreflight ? "OPTIONS" : question.method,
    path,
    ...(otherPaths && { otherPaths }),
    host: question.host ?? route.host,
    ip: question.ip ?? "127.0.0.1",
    ...(isCorsPreflight && { isCorsPreflight }),
    ...(certificate && { certificate }),
  };
  const facts: Facts = {
    http,
    ...(question.anonymous !== true && { user: withActor(known ?? userOf(question), question) }),
    ...(hasDevice(question) && { devices: [deviceOf(question)] }),
    ...(route.isMcpServer && { mcp: message }),
  };
  return { ok: true, facts };
}

/** "alice@example.com calls delete_repo on acme/github" */
export function questionText(question: Question, route: string): string {
  const who = question.anonymous === true ? "anonymous" : question.email || question.user;
  if (question.tool !== undefined)
    return `${who} calls ${question.tool}${question.arguments === undefined ? "" : ` with ${question.arguments}`} on ${route}`;
  if (question.prompt !== undefined) return `${who} gets the prompt ${question.prompt} of ${route}`;
  if (question.resource !== undefined) return `${who} reads ${question.resource} of ${route}`;
  if (question.preflight === true) return `${who} sends a preflight for ${question.path} to ${route}`;
  return `${who} sends ${question.mcpMethod ?? `${question.method} ${question.path}`} to ${route}`;
}

/** Limit, because each criterion of a policy scans them, on the thread that serves requests. */
const MAX_VALUES = 1000;
/** Total length of all texts. A form can be longer, for drafts. */
const MAX_LENGTH = 65_536;

function problemOf(question: Question, route: ExplainedRoute): string | undefined {
  const texts = Object.values(question)
    .flat()
    .filter((each) => typeof each === "string");
  if (texts.reduce((sum, each) => sum + each.length, 0) > MAX_LENGTH)
    return `the question is longer than ${MAX_LENGTH} characters`;
  if ((question.claim?.length ?? 0) > MAX_VALUES) return `more than ${MAX_VALUES} claims are given`;
  if (question.groups.split(",").length > MAX_VALUES) return `more than ${MAX_VALUES} groups are given`;
  const messages = [question.tool, question.prompt, question.resource].filter((each) => each !== undefined);
  const asksForMessage = messages.length > 0 || question.mcpMethod !== undefined;
  if (asksForMessage && !route.isMcpServer) return "it is not an MCP server route, so it has no tools and messages";
  if (messages.length > 1) return "a message is about one tool, prompt or resource";
  if (question.arguments !== undefined && question.tool === undefined)
    return "arguments are those of a tool, which is missing";
  if (question.arguments !== undefined && !isJsonObject(question.arguments))
    return "the arguments must be a JSON object";
  if (question.ip !== undefined && isIP(question.ip) === 0) return `"${question.ip}" is not an IP address`;
  if (question.deviceType !== undefined && deviceTypeOf(question) === undefined)
    return `"${question.deviceType}" is not a device type, must be one of ${DEVICE_TYPES.join(", ")}`;
  if (hasDevice(question) && question.anonymous === true) return "the request is anonymous, so it has no device";
  if (hasDevice(question) && route.isMcpServer)
    return "it is an MCP server route, whose clients cannot verify a device";
  const { actor, actorClaim = [] } = question;
  if (actor === undefined && actorClaim.length > 0) return "claims of an actor are given without the actor";
  if (actor !== undefined && !route.isMcpServer) return "it is not an MCP server route, so no workload acts there";
  if (actor !== undefined && question.anonymous === true)
    return "the request is anonymous, so no workload acts for a user";
  if (actorClaim.length > MAX_VALUES) return `more than ${MAX_VALUES} claims of the actor are given`;
  const claim = [...(question.claim ?? []), ...actorClaim].find((each) => each.indexOf("=") < 1);
  return claim === undefined ? undefined : `the claim "${claim}" must be written name=value`;
}

/** Parses as for every message. @returns the reason of a rejection, in the client's words */
function readMessage(question: Question, { isClearTool }: ExplainedRoute): McpFacts | string {
  const text = messageText(question);
  if (text === undefined) return {};
  const read = parseMessage(Buffer.from(text), JSON_HEADERS, { isClearTool });
  if (read.ok) {
    const { arguments: known, ...facts } = read.facts;
    return known === undefined || question.arguments === undefined ? facts : { ...facts, arguments: known };
  }
  return `the gateway refuses the message with ${read.status}, whatever its policy: ${read.text} (${read.reason})`;
}

/** @returns undefined for a request without a message */
function messageText(question: Question): string | undefined {
  const { tool, prompt, resource, arguments: given } = question;
  const method = question.mcpMethod ?? METHOD_OF.find(([name]) => question[name] !== undefined)?.[1];
  if (method === undefined) return undefined;
  const head = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(tool === undefined ? method : "tools/call")}`;
  if (tool !== undefined)
    return `${head},"params":{"name":${JSON.stringify(tool)}${given === undefined ? "" : `,"arguments":${given}`}}}`;
  const ref = prompt === undefined ? { type: "ref/resource", uri: resource } : { type: "ref/prompt", name: prompt };
  const isCompletion = method === "completion/complete" && (prompt ?? resource) !== undefined;
  const params = isCompletion ? { ref } : { name: prompt, uri: resource };
  return `${head},"params":${JSON.stringify(params)}}`;
}

const METHOD_OF = [
  ["tool", "tools/call"],
  ["prompt", "prompts/get"],
  ["resource", "resources/read"],
] as const;

const JSON_HEADERS: MessageHeaders = {
  contentType: "application/json",
  contentEncoding: undefined,
  mcpMethod: undefined,
  mcpName: undefined,
  protocolVersion: undefined,
  repeated: undefined,
};

function isJsonObject(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

/** As normalized by the listener; a path that it would reject stays unchanged. */
function readPath(text: string): string {
  const canonical = canonicalPath(text);
  return canonical.ok ? canonical.path : text;
}

function withActor(user: UserFacts, { actor: id, actorClaim = [] }: Question): UserFacts {
  return id === undefined ? user : { ...user, actor: { id, run: "", claims: claimsOf(actorClaim) } };
}

function userOf({ user: id, email, groups, claim = [] }: Question): UserFacts {
  return {
    id,
    email,
    name: "",
    groups: groups.split(",").filter((name) => name !== ""),
    claims: claimsOf(claim),
  };
}

/** @param given "name=value" each */
function claimsOf(given: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const named = Map.groupBy(given, (each) => each.slice(0, each.indexOf("=")));
  return Object.fromEntries([...named].map(([name, all]) => [name, all.map((each) => each.slice(name.length + 1))]));
}

function hasDevice({ device, deviceApproved, deviceType }: Question): boolean {
  return device !== undefined || deviceApproved === true || deviceType !== undefined;
}

function deviceOf(question: Question): DeviceFacts {
  const { device: id = "", deviceApproved: isApproved = false } = question;
  return { id, isApproved, type: deviceTypeOf(question) ?? "any" };
}

function deviceTypeOf({ deviceType }: Question): DeviceFacts["type"] | undefined {
  return DEVICE_TYPES.find((each) => each === deviceType);
}
