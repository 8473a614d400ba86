/**
 * The field `replay` of a record: all facts of the request's policy, so that another policy can be evaluated on them
 * (read-record.ts).
 *
 * Untrusted input: all of it. Promises: one line of JSON, bounded. Of arguments and claims, values appear only as
 * digests under its key, except those of arguments that the configuration allows. No token, cookie or secret.
 */
import type { CertificateFacts, Facts, McpFacts, UserFacts } from "../../policy/facts.ts";
import { parseExactly } from "../../policy/mcp/argument-values.ts";
import { escapeMarks, plainJsonText } from "../record-text.ts";
import { createDigests, type Digests } from "./digests.ts";
import { createPlans, type DeclaredArguments } from "../redaction/plan.ts";
import { writeTree } from "./tree.ts";

export const REPLAY_VERSION = 1;

/** For a request that was rejected before its policy was evaluated: no policy would have allowed it. */
export const REFUSED_TEXT = `{"v":${REPLAY_VERSION},"refused":true}`;
/** For a request whose facts are too long to record. */
const OMITTED_TEXT = `{"v":${REPLAY_VERSION},"omitted":true}`;

/** Longest arguments and claims, in UTF-16 units of JSON text. */
const MAX_TREE = 8_192;
/** Longest field. */
const MAX_FACTS = 32_768;

export interface ReplayInput {
  /** Facts that the policy evaluated. */
  readonly facts: Facts;
  /** The client's certificate, whether or not a rule needed it. */
  readonly certificate: CertificateFacts | undefined;
  /** JSON of the tool's arguments; undefined when the call has none. */
  readonly toolArguments: () => string | undefined;
  /** The route's declared treatment of arguments in records. */
  readonly declared?: DeclaredArguments | undefined;
}

export interface ReplayWriter {
  /** @returns JSON */
  write(input: ReplayInput): string;
}

export interface ReplayOptions {
  /** 32 bytes or more; absent: values that are not in plain text are omitted. */
  readonly key?: Uint8Array | undefined;
  /** If it does not, a missing certificate reveals nothing about the client. */
  readonly asksForCertificates: boolean;
}

export function createReplayWriter({ key, asksForCertificates }: ReplayOptions): ReplayWriter {
  const digests = key && createDigests(key);
  const plans = createPlans();
  /** Users are the same object over many requests. */
  const userTexts = new WeakMap<UserFacts, string>();
  const head = `{"v":${REPLAY_VERSION}${digests ? `,"k":"${digests.id}"` : ""}`;

  function userText(user: UserFacts): string {
    let text = userTexts.get(user);
    if (text === undefined) userTexts.set(user, (text = writeUser(user, digests)));
    return text;
  }

  function messageText({ facts: { mcp }, toolArguments, declared }: ReplayInput): string {
    if (mcp === undefined) return "";
    const parts: string[] = [];
    for (const name of MESSAGE_TEXTS) if (mcp[name] !== undefined) parts.push(`"${name}":${plainJsonText(mcp[name])}`);
    if (mcp.tool !== undefined) {
      const given = toolArguments() ?? "{}";
      const options = { digests, plan: plans(declared, mcp.tool) };
      const written = given.length > MAX_TREE ? undefined : writeTree(parseExactly(given), options);
      if (written !== undefined) parts.push(`"arguments":${written}`);
    }
    return `,"mcp":{${parts.join(",")}}`;
  }

  return {
    write(input) {
      const { facts, certificate } = input;
      const { method, path, host, ip, isCorsPreflight } = facts.http;
      const lines = [method, path, host, ip].map(plainJsonText);
      let text = `${head},"http":[${lines.join(",")}]`;
      if (isCorsPreflight === true) text += `,"preflight":true`;
      if (asksForCertificates) text += `,"certificate":${certificate ? objectText(certificate) : "null"}`;
      if (facts.user) text += `,"user":${userText(facts.user)}`;
      if (facts.devices) text += `,"devices":${objectText(facts.devices.map(deviceFacts))}`;
      text += `${messageText(input)}}`;
      return text.length > MAX_FACTS ? OMITTED_TEXT : text;
    },
  };
}

const MESSAGE_TEXTS = ["method", "tool", "prompt", "resource"] as const;

/** Every fact must be listed: a criterion on an unwritten fact could not be evaluated again. */
type Written = Record<
  | `facts ${"http" | "user" | "devices" | "mcp"}`
  | `http ${"method" | "path" | "host" | "ip" | "isCorsPreflight" | "certificate" | "otherPaths"}`
  | `user ${"id" | "email" | "groups" | "claims" | "leftOut" | "name" | "actor"}`
  | `mcp ${(typeof MESSAGE_TEXTS)[number] | "arguments"}`,
  true
>;
type Known = Record<
  `facts ${keyof Facts}` | `http ${keyof Facts["http"]}` | `user ${keyof UserFacts}` | `mcp ${keyof McpFacts}`,
  true
>;
true satisfies Written extends Known ? true : false;

function writeUser({ id, email, groups, claims, leftOut, actor }: UserFacts, digests: Digests | undefined): string {
  let text = `{"id":${plainJsonText(id)},"email":${plainJsonText(email)},"groups":[${groups.map(plainJsonText).join(",")}]`;
  if (leftOut) text += `,"left-out":${objectText(leftOut)}`;
  // In plain text: its platform attests them, and the configuration names them.
  if (actor) text += `,"actor":${objectText({ id: actor.id, run: actor.run, claims: actor.claims })}`;
  const written = digests && writeTree(claims, { digests, isByText: true });
  if (written !== undefined && written.length <= MAX_TREE) text += `,"claims":${written}`;
  return `${text}}`;
}

/** Only these members of the object. */
function deviceFacts({ id, isApproved, type }: NonNullable<Facts["devices"]>[number]): object {
  return { id, isApproved, type };
}

function objectText(value: object): string {
  return escapeMarks(JSON.stringify(value));
}
