/**
 * `/.gateway/mcp/runs`: a workload requests an agent run, reads its state and ends it, with its platform's token.
 *
 * Untrusted input: the token, until its issuer's signature is verified, and all of the body. Promises: a request opens
 * nothing before a user approves it. No ID is read from the workload. Each member of a request has a bound, and one
 * that is not known rejects it.
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import { isPlainJson, readBody } from "../../../http/body.ts";
import type { CodeWith } from "../../../http/codes.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { respondBytes, respondJson } from "../../../http/respond.ts";
import { findSite } from "../../../identity/sites.ts";
import { lowerAscii } from "../../../shared/ascii.ts";
import { epochSeconds, timeText, type Clock } from "../../../shared/clock.ts";
import { isRecord } from "../../../shared/is-record.ts";
import { parseForeignJson } from "../../../shared/json/foreign-json.ts";
import type { Log } from "../../../shared/log.ts";
import { NO_STORE_HEADERS, pass, refuse, respondNotFound, respondRefusal, type StepResult } from "../answer.ts";
import { findIssuer, type Issuer, offersRuns, routesOfAudience } from "../find-issuer.ts";
import { RUN_PAGE_PATH } from "../metadata.ts";
import { DEFAULT_SCOPE, scopesSupported } from "../scope.ts";
import { attest, type AttestDeps, type Attested, findOpened } from "./attest-run.ts";
import type { RequestedRun } from "./run-records.ts";
import type { AgentRun, Runs } from "./runs.ts";

const MAX_BODY_BYTES = 32_768;
/** In UTF-16 units: the approver must read it. */
const MAX_PURPOSE = 1000;
const MAX_SERVERS = 16;
const MAX_ADDRESS = 2048;
const MAX_SCOPE = 1024;
const MIN_SECONDS = 60;
const EMAIL = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u;
const MEMBERS = ["purpose", "servers", "scope", "expires_in", "approver"];

export interface RequestRunDeps extends AttestDeps {
  readonly runs: Runs;
  /** Tells operators of a pending run. */
  readonly onPending?: ((run: AgentRun, page: string) => void) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

interface Call {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly issuer: Issuer;
  readonly attested: Attested;
  readonly now: number;
}

export async function handleRuns(deps: RequestRunDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // The host must be an issuer where workloads can request runs.
  const issuer = findIssuer(snapshot, exchange.host);
  if (!issuer || !offersRuns(snapshot, issuer)) return respondNotFound(exchange);

  // The workload must be attested by its platform.
  const token = /^bearer ([^ ]+)$/i.exec(exchange.headerValues("authorization").join(", "))?.[1];
  if (token === undefined) return respondUnattested(exchange, undefined);
  const now = epochSeconds(deps.clock);
  const attested = await attest(deps, { snapshot, issuer, peer: exchange.remoteAddress, now }, token);
  if (!attested.ok) {
    const { refusal } = attested;
    const reason = refusal.detail ?? refusal.description;
    deps.log.info({ request: exchange.id, reason }, "agent run request rejected");
    return refusal.error === "invalid_grant"
      ? respondUnattested(exchange, refusal.description)
      : respondRefusal(exchange, refusal);
  }

  const call: Call = { exchange, snapshot, issuer, attested: attested.value, now };
  if (exchange.method === "POST") return request(deps, call);
  const run = await deps.runs.findOf(attested.value.pointer);
  if (!run) return respondNone(exchange);
  // A refusal stays until it expires: otherwise the workload could ask again at once.
  if (exchange.method !== "DELETE" || run.value.state === "refused") return respondRun(call, 200, run);
  await deps.runs.end(run, "ended by the workload");
  respondBytes(exchange, 204, ["x-request-id", exchange.id, ...NO_STORE_HEADERS]);
}

async function request(deps: RequestRunDeps, call: Call): Promise<void> {
  const { exchange } = call;
  const body = await readJson(exchange);
  const read = body.ok ? readRequest(call, body.value) : body;
  if (!read.ok) {
    deps.log.info({ request: exchange.id, reason: read.refusal.description }, "agent run request rejected");
    return respondRefusal(exchange, read.refusal);
  }
  const asked = await deps.runs.request(read.value);
  if (asked.outcome === "too-many") {
    const { waitSeconds } = asked;
    return respondRefusal(exchange, {
      error: "temporarily_unavailable",
      description: "Too many agent runs are requested, please try again later",
      status: 429,
      retryAfterSeconds: waitSeconds,
    });
  }
  if (asked.outcome === "differs") return respondExists(exchange, asked.run);
  if (asked.outcome === "created") deps.onPending?.(asked.run, pageOf(call, asked.run));
  respondRun(call, asked.outcome === "created" ? 201 : 200, asked.run);
}

async function readJson(exchange: Exchange): Promise<StepResult<unknown>> {
  if (!isPlainJson(exchange)) return refuse("invalid_request", "The request must be application/json");
  const body = await readBody(exchange, MAX_BODY_BYTES);
  const value = body.ok ? parseForeignJson(body.bytes) : undefined;
  return value === undefined
    ? refuse("invalid_request", `The request body must be JSON of at most ${MAX_BODY_BYTES} bytes`)
    : pass(value);
}

function readRequest(call: Call, body: unknown): StepResult<RequestedRun> {
  if (!isRecord(body)) return refuse("invalid_request", "The request body must be a JSON object");
  const unknown = Object.keys(body).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) return refuse("invalid_request", `The request can have only ${MEMBERS.join(", ")}`);
  const { purpose, approver, expires_in: seconds } = body;
  if (typeof purpose !== "string" || purpose.trim() === "" || purpose.length > MAX_PURPOSE || /\p{Cc}/u.test(purpose))
    return refuse("invalid_request", `purpose must be one line of 1 to ${MAX_PURPOSE} characters`);
  if (typeof approver !== "string" || !EMAIL.test(approver))
    return refuse("invalid_request", "approver must be an email address");
  const { attested, now } = call;
  const { maxSeconds, approverGroups } = attested.rule.agentRuns;
  if (!isCount(seconds) || seconds < MIN_SECONDS || seconds > maxSeconds)
    return refuse("invalid_request", `expires_in must be a whole number of ${MIN_SECONDS} to ${maxSeconds} seconds`);
  const servers = readServers(call, body["servers"]);
  if (!servers.ok) return servers;
  const scope = readScope(body["scope"], servers.value);
  if (!scope.ok) return scope;
  const { userId, claims, assertedBy, pointer } = attested;
  return pass({
    pointer,
    workload: { userId, claims, assertedBy },
    purpose,
    servers: [...servers.value.keys()].sort(),
    scope: scope.value,
    approver: lowerAscii(approver),
    ...(approverGroups && { approverGroups }),
    seconds,
    requestedAt: now,
    endsAt: now + seconds,
  });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Issuers of the servers by resource. */
type RunServers = ReadonlyMap<string, Issuer>;

function readServers({ snapshot, attested }: Call, value: unknown): StepResult<RunServers> {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_SERVERS)
    return refuse("invalid_request", `servers must be a list of 1 to ${MAX_SERVERS} URLs of MCP servers`);
  const servers = new Map<string, Issuer>();
  for (const address of value as readonly unknown[]) {
    const isUsable = typeof address === "string" && address.length <= MAX_ADDRESS;
    const found = isUsable ? findOpened(snapshot, attested, address) : undefined;
    if (!found) return refuse("invalid_target", "servers must be MCP servers that the rule of the workload opens");
    servers.set(found.audience, found.issuer);
  }
  return pass(servers);
}

function readScope(value: unknown, servers: RunServers): StepResult<string> {
  if (value === undefined) return pass(DEFAULT_SCOPE);
  if (typeof value !== "string" || value.length > MAX_SCOPE)
    return refuse("invalid_request", `scope must be text of at most ${MAX_SCOPE} characters`);
  const supported = new Set(
    [...servers].flatMap(([audience, issuer]) => scopesSupported(routesOfAudience(issuer, audience))),
  );
  const words = value.split(" ").filter((word) => word !== "");
  // Not ignored, as for other clients: the approver sees exactly what was requested.
  if (words.some((word) => !supported.has(word)))
    return refuse("invalid_scope", "scope must be scopes that one of the servers supports");
  return pass([...new Set([DEFAULT_SCOPE, ...words.toSorted()])].join(" "));
}

function pageOf({ snapshot, issuer }: Call, { id }: AgentRun): string {
  const origin = findSite(snapshot, issuer.host)?.authenticateOrigin ?? issuer.origin;
  return `${origin}${RUN_PAGE_PATH}?request=${id}`;
}

function respondRun(call: Call, status: 200 | 201, run: AgentRun): void {
  const { state, servers, scope, approver, endsAt } = run.value;
  const pending = { approval_url: pageOf(call, run), expires_at: timeText(run.expiresAt) };
  const body = { state, servers, scope, approver, ends_at: timeText(endsAt) };
  respondJson(call.exchange, status, state === "pending" ? { ...body, ...pending } : body, NO_STORE_HEADERS);
}

function respondExists(exchange: Exchange, { value }: AgentRun): void {
  const error_description = "This workload has another agent run: end it, or wait until it ends";
  const body = { error: "run_exists", error_description, state: value.state, request_id: exchange.id };
  respondJson(exchange, 409, body, NO_STORE_HEADERS);
}

function respondNone(exchange: Exchange): void {
  const error_description = "This workload has no agent run";
  const body = { error: "not_found" satisfies CodeWith<404>, error_description, request_id: exchange.id };
  respondJson(exchange, 404, body, NO_STORE_HEADERS);
}

/** RFC 6750 §3. @param problem undefined: there is no token */
function respondUnattested(exchange: Exchange, problem: string | undefined): void {
  const error_description = problem ?? "The request needs the platform's token of the workload";
  respondJson(exchange, 401, { error: "invalid_token", error_description, request_id: exchange.id }, [
    ...NO_STORE_HEADERS,
    "www-authenticate",
    problem === undefined ? "Bearer" : 'Bearer error="invalid_token"',
  ]);
}
