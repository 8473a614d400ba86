/** `gateway explain`: validates one imagined request against a configuration, with the proxy's own policy engine. */
import { isIP } from "node:net";

import { formatProblem, loadSlices, type CheckedConfig, type CheckedRoute, type SliceSource } from "../config/load.ts";
import { canonicalPath, otherReadings } from "../shared/http/target.ts";
import { routePolicy } from "../policy/access-keys.ts";
import { DEVICE_UNAUTHENTICATED } from "../policy/criteria.ts";
import { DEVICE_TYPES } from "../policy/device-match.ts";
import type { CertificateFacts, Decision, DeviceFacts, Facts, McpFacts, UserFacts } from "../policy/facts.ts";
import { compilePolicy, isAmbiguous } from "../policy/evaluate.ts";
import { explain, formatExplanation } from "../policy/explain.ts";
import { compileShadow, decideShadow, type ShadowDecision } from "../policy/shadow.ts";
import { readArguments } from "../policy/mcp/argument-values.ts";
import { ARGUMENT_UNKNOWN } from "../policy/mcp/criteria.ts";
import { isRecord } from "../shared/is-record.ts";

/** What the command line gives. */
export interface ExplainOptions {
  /** Route key ("owner/name") or name. */
  readonly route: string;
  readonly user: string;
  readonly email: string;
  /** Comma separated. */
  readonly groups: string;
  /** "name=value" each; a name that stands several times has several values. Names may be paths ("realm/roles"). */
  readonly claim?: readonly string[];
  readonly anonymous?: boolean;
  /** Id of a registered device that the session has proven; each of the three assumes one. */
  readonly device?: string;
  readonly deviceApproved?: boolean;
  readonly deviceType?: string;
  /** A `tools/call` of this tool. */
  readonly tool?: string;
  /** Its arguments, as JSON. */
  readonly arguments?: string;
  /** A `prompts/get` of this prompt. */
  readonly prompt?: string;
  /** A `resources/read` of this URI. */
  readonly resource?: string;
  readonly mcpMethod?: string;
  readonly method: string;
  readonly path: string;
  /** Address of the peer. */
  readonly ip?: string;
  /** A CORS preflight. */
  readonly preflight?: boolean;
  readonly json?: boolean;
}

/** The exit codes of the command, for scripts that ask "may she?". */
export const EXPLAIN_EXIT = { allowed: 0, problem: 1, denied: 3, approval: 4 } as const;

export interface ExplainAnswer {
  readonly text: string;
  /** approval: allowed once it is approved. problem: the configuration is bad, has no such route, or the question makes no sense. */
  readonly answer: keyof typeof EXPLAIN_EXIT;
}

/** @param certificate what the client shows */
export function explainRequest(
  sources: readonly SliceSource[],
  options: ExplainOptions,
  certificate?: CertificateFacts,
): ExplainAnswer {
  const { config, problems } = loadSlices(sources);
  if (!config) return { answer: "problem", text: problems.map(formatProblem).join("\n") };
  const route = config.routes.find(({ key, name }) => key === options.route || name === options.route);
  if (!route) {
    const known = config.routes.map(({ key }) => `"${key}"`).join(", ");
    return refuse(`Cannot explain route "${options.route}": there is none of this name, only ${known}`);
  }
  const problem = questionProblem(options, route);
  if (problem !== undefined) return refuse(`Cannot explain route "${options.route}": ${problem}`);
  const facts = factsOf(options, route, certificate);
  const explanation = explain(compilePolicy(routePolicy(route.doc)), facts);
  const notes = [...notesOf(config, route, facts, explanation.decision)];
  const shadow = compileShadow(route.doc);
  const candidates = shadow ? decideShadow(shadow, facts, explanation.decision) : [];
  const question = questionOf(options, route.key);
  const { allowed, approval } = explanation.decision;
  const answer = allowed ? "allowed" : approval ? "approval" : "denied";
  if (options.json === true) {
    const tried = candidates.map(({ candidate, ...decision }) => ({
      candidate: candidate.name,
      ...decision,
      rules: explain(candidate.policy, facts).rules,
    }));
    const printed = {
      route: route.key,
      question,
      allowed: explanation.decision.allowed,
      notes,
      ...explanation,
      ...(tried.length > 0 && { shadow: tried }),
    };
    return { answer, text: JSON.stringify(printed, null, 2) };
  }
  const tried = candidates.map((each) => formatExplanation(candidateText(each), explain(each.candidate.policy, facts)));
  const lines = [formatExplanation(question, explanation), ...tried, ...notes.map((note) => `note: ${note}`)];
  return { answer, text: lines.join("\n\n") };
}

function candidateText({ candidate, outcome, flip }: ShadowDecision): string {
  const change = outcome === "error" ? "cannot be evaluated" : flip === "none" ? "no change" : flip;
  return `in shadow, ${candidate.name} (${change})`;
}

function refuse(text: string): ExplainAnswer {
  return { answer: "problem", text };
}

/** Why the question makes no sense. */
function questionProblem(options: ExplainOptions, route: CheckedRoute): string | undefined {
  const messages = [options.tool, options.prompt, options.resource].filter((each) => each !== undefined);
  const asksForMessage = messages.length > 0 || options.mcpMethod !== undefined;
  if (asksForMessage && !route.doc.mcp?.server) return "it is no MCP server route, so it has no tools and messages";
  if (messages.length > 1) return "a message is about one tool, prompt or resource";
  if (options.arguments !== undefined && options.tool === undefined)
    return "arguments are those of a tool, which is missing";
  if (options.arguments !== undefined && !isJsonObject(options.arguments)) return "the arguments must be a JSON object";
  if (options.ip !== undefined && isIP(options.ip) === 0) return `"${options.ip}" is no IP address`;
  if (options.deviceType !== undefined && deviceTypeOf(options) === undefined)
    return `"${options.deviceType}" is no type of device, must be one of ${DEVICE_TYPES.join(", ")}`;
  if (hasDevice(options) && options.anonymous === true) return "nobody is signed in, so there is no device either";
  if (hasDevice(options) && route.doc.mcp?.server)
    return "it is an MCP server route, whose clients cannot prove a device";
  const claim = options.claim?.find((each) => each.indexOf("=") < 1);
  return claim === undefined ? undefined : `the claim "${claim}" must be written name=value`;
}

/** What happens to such a request beside the policy. */
function* notesOf(config: CheckedConfig, route: CheckedRoute, facts: Facts, decision: Decision): Iterable<string> {
  const { allowWhyFalse } = decision;
  const { mcp } = route.doc;
  if (mcp && config.settings.runtime_flags?.mcp !== true)
    yield "MCP is off (runtime_flags.mcp), so the gateway answers 503";
  if (mcp?.server && facts.user === undefined)
    yield "an MCP server route answers 401 to everybody without a token, whatever its policy says";
  if (mcp?.server && facts.http.isCorsPreflight === true)
    yield "preflight requests of MCP server routes are answered by the gateway itself";
  if (!mcp?.server && allowWhyFalse.includes(DEVICE_UNAUTHENTICATED))
    yield "a browser is led to prove a registered device; programs are answered 450";
  if (allowWhyFalse.includes(ARGUMENT_UNKNOWN) && facts.mcp?.arguments === undefined)
    yield "no arguments were given (--arguments), so what rules ask of them is unknown";
  if (isAmbiguous(decision))
    yield `the answer is 400: to servers that cut path parameters off the path is ${(facts.http.otherPaths ?? []).map((path) => `"${path}"`).join(" or ")}, which the policy decides differently`;
  const mtls = config.boot.downstream_mtls;
  if (mtls && (mtls.enforcement ?? "") !== "policy" && facts.http.certificate?.isValid !== true)
    yield "downstream_mtls refuses clients without a valid certificate before the policy is asked";
}

function factsOf(options: ExplainOptions, { doc }: CheckedRoute, certificate: CertificateFacts | undefined): Facts {
  const path = readPath(options.path);
  const otherPaths = otherReadings(path);
  const isCorsPreflight = options.preflight === true;
  return {
    http: {
      method: isCorsPreflight ? "OPTIONS" : options.method,
      path,
      ...(otherPaths && { otherPaths }),
      host: URL.parse(doc.from)?.host ?? "",
      ip: options.ip ?? "127.0.0.1",
      ...(isCorsPreflight && { isCorsPreflight }),
      ...(certificate && { certificate }),
    },
    ...(options.anonymous !== true && { user: userOf(options) }),
    ...(hasDevice(options) && { devices: [deviceOf(options)] }),
    ...(doc.mcp?.server && { mcp: messageOf(options) }),
  };
}

function messageOf({ tool, arguments: text, prompt, resource, mcpMethod }: ExplainOptions): McpFacts {
  if (tool !== undefined)
    return { method: "tools/call", tool, ...(text !== undefined && { arguments: readArguments(() => text) }) };
  if (prompt !== undefined) return { method: mcpMethod ?? "prompts/get", prompt };
  if (resource !== undefined) return { method: mcpMethod ?? "resources/read", resource };
  return mcpMethod === undefined ? {} : { method: mcpMethod };
}

function isJsonObject(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

/** As the listener gives it out; what it would refuse stays as it was asked about. */
function readPath(text: string): string {
  const canonical = canonicalPath(text);
  return canonical.ok ? canonical.path : text;
}

function userOf({ user: id, email, groups, claim = [] }: ExplainOptions): UserFacts {
  const values = new Map<string, string[]>();
  for (const each of claim) {
    const name = each.slice(0, each.indexOf("="));
    values.set(name, [...(values.get(name) ?? []), each.slice(name.length + 1)]);
  }
  return {
    id,
    email,
    name: "",
    groups: groups.split(",").filter((name) => name !== ""),
    claims: Object.fromEntries(values),
  };
}

function hasDevice({ device, deviceApproved, deviceType }: ExplainOptions): boolean {
  return device !== undefined || deviceApproved === true || deviceType !== undefined;
}

function deviceOf(options: ExplainOptions): DeviceFacts {
  const { device: id = "", deviceApproved: isApproved = false } = options;
  return { id, isApproved, type: deviceTypeOf(options) ?? "any" };
}

function deviceTypeOf({ deviceType }: ExplainOptions): DeviceFacts["type"] | undefined {
  return DEVICE_TYPES.find((each) => each === deviceType);
}

function questionOf(options: ExplainOptions, route: string): string {
  const who = options.anonymous === true ? "anonymous" : options.email || options.user;
  if (options.tool !== undefined)
    return `${who} calls ${options.tool}${options.arguments === undefined ? "" : ` with ${options.arguments}`} on ${route}`;
  if (options.prompt !== undefined) return `${who} gets the prompt ${options.prompt} of ${route}`;
  if (options.resource !== undefined) return `${who} reads ${options.resource} of ${route}`;
  if (options.preflight === true) return `${who} sends a preflight for ${options.path} to ${route}`;
  return `${who} sends ${options.mcpMethod ?? `${options.method} ${options.path}`} to ${route}`;
}
