/**
 * One line of a log → the decision recorded in it, and the facts for evaluating another policy.
 *
 * Untrusted input: the line. Promises: never throws; a line that is not an authorization record is reported as such,
 * and an incomplete one is broken, never read in part.
 */
import { DEVICE_TYPES } from "../../policy/device-match.ts";
import type {
  ActorFacts,
  ArgumentFacts,
  CertificateFacts,
  DeviceFacts,
  LeftOut,
  McpFacts,
  UserFacts,
} from "../../policy/facts.ts";
import { APPROVAL_REQUIRED } from "../../policy/mcp/approval.ts";
import { argumentsOf } from "../../policy/mcp/argument-values.ts";
import { comparableArguments, type RecordedFacts, type RecordNeeds } from "../../policy/recorded/decide-recorded.ts";
import type { OUTCOMES } from "../../policy/shadow.ts";
import { isRecord, type Members } from "../../shared/is-record.ts";
import { CHECK_MESSAGE, type LogLine } from "../log-line.ts";
import { readMembers, readTree, type Known } from "./tree.ts";
import { REPLAY_VERSION } from "./write-facts.ts";

export type Outcome = (typeof OUTCOMES)[number];

export interface RecordedCheck {
  /** "2026-11-20T18:00:00.000Z" */
  readonly time: string;
  readonly isAllowed: boolean;
  /** IDs of grant and client; "" if absent. */
  readonly caller: readonly [grant: string, client: string];
  /** approve: a call that needed an approval, whatever its result. */
  readonly outcome: Outcome;
  /** Reasons of the decision, sorted. */
  readonly reasons: readonly string[];
  /** This and the key of the route: "" if the record has none. */
  readonly requestId: string;
  readonly route: string;
  /** The request came to the route as a member of this federated route; `name`: the name or URI there, or "". */
  readonly federated: { readonly route: string; readonly name: string } | undefined;
  /**
   * refused: rejected before the policy was evaluated; omitted: the facts were too long; absent: recorded without the
   * field `replay`; newer: by a later version of the gateway.
   */
  readonly request: RecordedRequest | "refused" | "omitted" | "absent" | "newer";
}

export interface RecordedRequest {
  /** User's email address, else ID; "" for anonymous callers. */
  readonly who: string;
  readonly host: string;
  readonly path: string;
  readonly httpMethod: string;
  readonly mcp: McpFacts | undefined;
  /** ID of the key of its digests. */
  readonly keyId: string | undefined;
  /** @throws RangeError when they cannot be read */
  facts(asked: AskedFacts): RecordedFacts;
}

/** Parts of the deciding configuration that the facts depend on. */
export interface AskedFacts {
  /** Vocabulary of its policies. */
  readonly vocabulary: Known;
  /** From its routes. */
  readonly otherPaths?: readonly string[] | undefined;
  /** Whether it requests client certificates. */
  readonly asksForCertificates: boolean;
  /** Facts that its policies for the request's route need. */
  readonly needs: RecordNeeds;
}

export type ReadLine =
  | { readonly kind: "other" }
  | { readonly kind: "broken"; readonly problem: string }
  | { readonly kind: "check"; readonly check: RecordedCheck };

const OTHER: ReadLine = { kind: "other" };
/** @param line the operator's log may be in the same file, as JSON and as text */
export function readRecord(line: LogLine): ReadLine {
  if (line.kind === "broken") return line;
  if (line.kind !== "record") return OTHER;
  if (line.problem !== undefined) return { kind: "broken", problem: line.problem };
  if (line.message !== CHECK_MESSAGE) return OTHER;
  try {
    return { kind: "check", check: readCheck(line.value) };
  } catch (error) {
    return { kind: "broken", problem: (error as Error).message };
  }
}

/** Format of times in records, so that texts sort by time. */
const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;

function readCheck(record: Members): RecordedCheck {
  const { allow, time, replay, approval } = record;
  if (typeof allow !== "boolean" || typeof time !== "string" || !TIME.test(time))
    throw new RangeError('it has no "allow" or no "time"');
  const reasons = texts(record[allow ? "allow-why-true" : "allow-why-false"] ?? []);
  // A call that was denied without a request for approval has only the reason.
  const isApproval = approval !== undefined || reasons.includes(APPROVAL_REQUIRED);
  return {
    time,
    isAllowed: allow,
    caller: [text(record["grant-id"] ?? ""), text(record["client-id"] ?? "")],
    outcome: isApproval ? "approve" : allow ? "allow" : "deny",
    reasons,
    requestId: text(record["request-id"] ?? ""),
    route: text(record["route"] ?? ""),
    federated: optional(record["federated"], readFederated),
    request: readRequest(replay),
  };
}

function readRequest(replay: unknown): RecordedCheck["request"] {
  if (replay === undefined) return "absent";
  const given = members(replay);
  const { v: version } = given;
  if (typeof version === "number" && version > REPLAY_VERSION) return "newer";
  if (version !== REPLAY_VERSION) throw unreadable("v");
  if (given["refused"] === true) return "refused";
  if (given["omitted"] === true) return "omitted";
  const [httpMethod, path, host, ip] = texts(given["http"]);
  if (httpMethod === undefined || path === undefined || host === undefined || ip === undefined)
    throw unreadable("http");
  const keyId = optional(given["k"], text);
  const user = optional(given["user"], readUser);
  const devices = optional(given["devices"], readDevices);
  const message = optional(given["mcp"], readMessage);
  const { certificate: shown } = given;
  const certificate = shown === null ? undefined : optional(shown, readCertificate);
  const http = {
    method: httpMethod,
    path,
    host,
    ip,
    ...(given["preflight"] === true && { isCorsPreflight: true }),
    ...(certificate && { certificate }),
  };

  return {
    who: user?.email || user?.id || "",
    host,
    path,
    httpMethod,
    mcp: message?.mcp,
    keyId,
    facts({ vocabulary, otherPaths, asksForCertificates, needs }) {
      const known = keyId === vocabulary.keyId ? vocabulary : UNKNOWN_KEY;
      const hasClaims = user === undefined || (user.claims !== undefined && known.keyId !== undefined);
      const needsClaims = hasClaims && needs.claims.size > 0;
      const claims = needsClaims
        ? readMembers(members(user?.claims ?? {}), { ...known, isByText: true }, needs.claims)
        : {};
      const needsArguments = message?.mcp.tool !== undefined && needs.argumentsOf(message.mcp.tool);
      const recordedArguments = needsArguments ? argumentsUnder(message, known) : undefined;
      return {
        http: otherPaths ? { ...http, otherPaths } : http,
        ...(user && {
          user: { ...user, name: "", claims, ...(user.leftOut && { leftOut: leftOutOf(user.leftOut, hasClaims) }) },
        }),
        ...(devices && { devices }),
        ...(message && {
          mcp: recordedArguments ? { ...message.mcp, arguments: comparableArguments(recordedArguments) } : message.mcp,
        }),
        hasClaims,
        isCertificateKnown: shown !== undefined || !asksForCertificates,
        recordedArguments,
      };
    },
  };
}

/** For digests under an unknown key: they reveal only types and the lengths of lists. */
const UNKNOWN_KEY: Known = { keyId: undefined, value: () => undefined, name: (written) => written };

interface ReadMessage {
  readonly mcp: McpFacts;
  /** The arguments as written. */
  readonly written: unknown;
}

/** Also absent if a name cannot be read: a searched name may or may not be present. */
function argumentsUnder(message: ReadMessage | undefined, known: Known): ArgumentFacts | undefined {
  if (message?.written === undefined) return undefined;
  let isReadable = true;
  const name = (written: string): string => {
    if (known.keyId === undefined) isReadable = false;
    return known.name(written);
  };
  const whole = readTree(message.written, { keyId: known.keyId, value: (written) => known.value(written), name });
  return isReadable ? argumentsOf(whole) : undefined;
}

/** Without recorded claims, drops the note about other omitted claims: an unrecorded claim may have been present. */
function leftOutOf({ others, ...known }: LeftOut, hasClaims: boolean): LeftOut {
  return others && hasClaims ? { ...known, others } : known;
}

function readFederated(value: unknown): RecordedCheck["federated"] {
  const { route, name } = members(value);
  return { route: text(route), name: text(name ?? "") };
}

function readUser(value: unknown): Omit<UserFacts, "name" | "claims"> & { readonly claims: unknown } {
  const { id, email, groups, claims, "left-out": leftOut, actor: by } = members(value);
  const left = optional(leftOut, readLeftOut);
  const actor = optional(by, readActor);
  return {
    id: text(id),
    email: text(email),
    groups: texts(groups),
    claims,
    ...(left && { leftOut: left }),
    ...(actor && { actor }),
  };
}

function readActor(value: unknown): ActorFacts {
  const { id, run, claims } = members(value);
  const named = Object.entries(members(claims)).map(
    ([name, each]) => [name, Array.isArray(each) ? texts(each) : text(each)] as const,
  );
  return { id: text(id), run: text(run), claims: Object.fromEntries(named) };
}

function readLeftOut(value: unknown): LeftOut {
  const { groups, claims, others } = members(value);
  return { groups: flag(groups), claims: texts(claims), ...(others === true && { others }) };
}

function readDevices(value: unknown): readonly DeviceFacts[] {
  return list(value).map((each) => {
    const { id, isApproved, type } = members(each);
    const known = DEVICE_TYPES.find((one) => one === type);
    if (known === undefined) throw unreadable("devices");
    return { id: text(id), isApproved: flag(isApproved), type: known };
  });
}

function readCertificate(value: unknown): CertificateFacts {
  const { isValid, fingerprint, spkiHash, sanEmail, sanDns, sanUri } = members(value);
  return {
    isValid: flag(isValid),
    fingerprint: text(fingerprint),
    spkiHash: text(spkiHash),
    sanEmail: texts(sanEmail),
    sanDns: texts(sanDns),
    sanUri: texts(sanUri),
  };
}

function readMessage(value: unknown): ReadMessage {
  const { method, tool, prompt, resource, arguments: written } = members(value);
  const mcp: { -readonly [K in "method" | "tool" | "prompt" | "resource"]?: string } = {};
  if (method !== undefined) mcp.method = text(method);
  if (tool !== undefined) mcp.tool = text(tool);
  if (prompt !== undefined) mcp.prompt = text(prompt);
  if (resource !== undefined) mcp.resource = text(resource);
  // Criteria about tools would fail on it.
  if ((mcp.method === "tools/call") !== (mcp.tool !== undefined)) throw unreadable("mcp");
  if (written !== undefined) members(written);
  return { mcp, written };
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : read(value);
}

function members(value: unknown): Members {
  if (!isRecord(value)) throw unreadable("a block");
  return value;
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unreadable("a list");
  return value as readonly unknown[];
}

function texts(value: unknown): readonly string[] {
  const items = list(value);
  for (const item of items) if (typeof item !== "string") throw unreadable("a text");
  return items as readonly string[];
}

function text(value: unknown): string {
  if (typeof value !== "string") throw unreadable("a text");
  return value;
}

function flag(value: unknown): boolean {
  if (typeof value !== "boolean") throw unreadable("a flag");
  return value;
}

function unreadable(what: string): RangeError {
  return new RangeError(`${what} of it is not what a gateway writes`);
}
