/**
 * Criteria of a policy as English clauses: 'the user is in group "staff"'.
 *
 * Promise: nothing is omitted silently. Long lists state the number of further items. A criterion, or a part of one,
 * without a clause is shown in its source form.
 */
import type { CertificateMatch } from "../certificate-match.ts";
import type { DeviceMatch } from "../device-match.ts";
import type { ListMatch, StringMatch } from "../match.ts";
import type { ArgumentMatch, ValueMatch } from "../mcp/argument-match.ts";
import type { Leaf } from "../tree.ts";

type Said = Pick<Leaf, "key" | "subPath" | "data"> & { readonly criterion: Pick<Leaf["criterion"], "name"> };

/** Limit of names shown per list; the policy itself has all. */
const MAX_NAMES = 20;

/** @returns a clause without a full stop */
export function criterionWords(leaf: Said): string {
  return clauseOf(leaf) ?? asWritten(leaf);
}

/** @returns undefined if there is no clause for it */
function clauseOf({ criterion: { name }, subPath, data }: Said): string | undefined {
  switch (name) {
    case "accept":
      return "the request is any request";
    case "reject":
      return "never";
    case "authenticated_user":
      return "the user is signed in";
    case "cors_preflight":
      return "the request is a CORS preflight";
    case "invalid_client_certificate":
      return "the client presents no valid certificate";
    case "user":
      return textWords("the user ID", data);
    case "idp":
      return providerWords(data);
    case "email":
      return textWords("the email", data);
    case "domain":
      return textWords("the email domain", data);
    case "groups":
      return listWords(data, {
        has: (group) => `the user is in group ${group}`,
        is: (group) => `the user is in group ${group} and in no other`,
        exclude: (group) => `the user is not in group ${group}`,
      });
    case "claim":
      return listWords(data, {
        has: (value) => `the user's claim ${quoted(subPath)} has ${value}`,
        is: (value) => `the user's claim ${quoted(subPath)} has ${value} and nothing else`,
        exclude: (value) => `the user's claim ${quoted(subPath)} does not have ${value}`,
      });
    case "actor":
      return textWords("the workload that acts for the user", data);
    case "actor_claim":
      return listWords(data, {
        has: (value) => `the acting workload's claim ${quoted(subPath)} has ${value}`,
        is: (value) => `the acting workload's claim ${quoted(subPath)} has ${value} and nothing else`,
        exclude: (value) => `the acting workload's claim ${quoted(subPath)} does not have ${value}`,
      });
    case "device":
      return deviceWords(data);
    case "mcp_tool":
      return textWords("the tool", data);
    case "mcp_tool_class":
      return listWords(data, {
        has: (name) => `the tool has the class ${name}`,
        is: (name) => `the tool has the class ${name} and no other`,
        exclude: (name) => `the tool does not have the class ${name}`,
      });
    case "mcp_tool_argument":
      return argumentWords(data);
    case "mcp_prompt":
      return textWords("the prompt", data);
    case "mcp_resource":
      return textWords("the resource URI", data);
    case "mcp_skill":
      return textWords("the skill URI", data);
    case "mcp_method":
      return textWords("the MCP method", data);
    case "http_method":
      return textWords("the HTTP method", data);
    case "http_path":
      return textWords("the path", data);
    case "source_ip":
      return isTexts(data) ? `the client IP is in ${someOf(data, "or")}` : undefined;
    case "client_certificate":
      return certificateWords(data);
    default:
      return undefined;
  }
}

/** YAML, which JSON is. */
function asWritten({ key, data }: Pick<Said, "key" | "data">): string {
  return `${/^[A-Za-z0-9_/-]+$/.test(key) ? key : quoted(key)}: ${JSON.stringify(data)}`;
}

/** Clause per operator; several clauses are joined by "and". */
const TEXT_WORDS: Readonly<Record<keyof StringMatch, (operand: unknown) => string | undefined>> = {
  is: (operand) => one(operand, (text) => `is ${text}`),
  not: (operand) => one(operand, (text) => `is not ${text}`),
  contains: (operand) => one(operand, (text) => `contains ${text}`),
  starts_with: (operand) => one(operand, (text) => `starts with ${text}`),
  ends_with: (operand) => one(operand, (text) => `ends with ${text}`),
  in: (operand) => (isTexts(operand) ? isAmong(operand) : undefined),
  not_in: (operand) => (isTexts(operand) ? isNotAmong(operand) : undefined),
  fold_case: (operand) => (operand === true ? "ignoring case" : undefined),
};

function isAmong(texts: readonly unknown[]): string {
  if (texts.length === 0) return "is one of an empty list, which is never true";
  return `is ${someOf(texts, "or")}`;
}

function isNotAmong(texts: readonly unknown[]): string {
  if (texts.length === 0) return "is none of an empty list, which is always true";
  return texts.length === 1 ? `is not ${quoted(texts[0])}` : `is none of ${someOf(texts, "and")}`;
}

function textWords(subject: string, data: unknown): string | undefined {
  const words = operatorWords(data, TEXT_WORDS);
  return words && `${subject} ${words.join(" and ")}`;
}

/** `undefined` if a member is unknown, or the data is not an object. */
function operatorWords(
  data: unknown,
  known: Readonly<Record<string, (operand: unknown) => string | undefined>>,
): readonly string[] | undefined {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return undefined;
  const words = Object.entries(data).map(([name, operand]) =>
    Object.hasOwn(known, name) ? known[name]?.(operand) : undefined,
  );
  return words.length > 0 && words.every((each) => each !== undefined) ? words : undefined;
}

function listWords(
  data: unknown,
  say: Readonly<Record<keyof ListMatch, (element: string) => string>>,
): string | undefined {
  const words = operatorWords(data, {
    has: (operand) => one(operand, say.has),
    is: (operand) => one(operand, say.is),
    exclude: (operand) => one(operand, say.exclude),
  });
  return words?.join(" and ");
}

/** "" represents workloads, which have no provider. */
function providerWords(data: unknown): string | undefined {
  const { is, not, ...rest } = (data ?? {}) as StringMatch;
  if (Object.keys(rest).length === 0 && is === "" && not === undefined)
    return "the caller is a service account or workload";
  if (Object.keys(rest).length === 0 && not === "" && is === undefined)
    return "the caller is neither a service account nor a workload";
  return textWords("the identity provider", data);
}

function deviceWords(data: unknown): string | undefined {
  const words = operatorWords(data, {
    is: (id) => one(id, (text) => `whose ID is ${text}`),
    approved: (is) => (typeof is === "boolean" ? `that ${is ? "is" : "is not"} approved` : undefined),
    type: (type) =>
      type === "any" ? "of any type" : type === "enclave_only" ? "that is bound to its hardware" : undefined,
  } satisfies Record<keyof DeviceMatch, (operand: unknown) => string | undefined>);
  return words && `the browser has a verified device ${words.join(" and ")}`;
}

function certificateWords(data: unknown): string | undefined {
  const names = (what: string) => (match: unknown) => textWords(`one of its ${what}`, match);
  const hashes = (what: string) => (list: unknown) =>
    isTexts(list) && list.length > 0 ? `its ${what} is ${someOf(list, "or")}` : undefined;
  const words = operatorWords(data, {
    fingerprint: hashes("fingerprint"),
    spki_hash: hashes("key's hash"),
    san_email: names("email addresses"),
    san_dns: names("host names"),
    san_uri: names("URIs"),
  } satisfies Record<keyof CertificateMatch, (operand: unknown) => string | undefined>);
  return words && `the client presents a valid certificate: ${words.join(", and ")}`;
}

const VALUE_WORDS: Readonly<Record<keyof ValueMatch, (operand: unknown) => string | undefined>> = {
  is: (operand) => scalar(operand, (text) => `is ${text}`),
  not: (operand) => scalar(operand, (text) => `is not ${text}`),
  in: (operand) => (Array.isArray(operand) ? isAmong(operand) : undefined),
  not_in: (operand) => (Array.isArray(operand) ? isNotAmong(operand) : undefined),
  contains: (operand) => one(operand, (text) => `contains ${text}`),
  starts_with: (operand) => one(operand, (text) => `starts with ${text}`),
  ends_with: (operand) => one(operand, (text) => `ends with ${text}`),
  matches: (operand) => one(operand, (text) => `matches the pattern ${text}`),
  gt: (operand) => number(operand, "above"),
  gte: (operand) => number(operand, "at least"),
  lt: (operand) => number(operand, "below"),
  lte: (operand) => number(operand, "at most"),
  only: (operand) =>
    isTexts(operand)
      ? operand.length === 0
        ? "is an object without members"
        : `is an object without members other than ${someOf(operand, "and")}`
      : undefined,
};

const ARGUMENT_WORDS: Readonly<Record<string, (operand: unknown) => string | undefined>> = {
  ...VALUE_WORDS,
  exists: (operand) => (operand === true ? "is present" : operand === false ? "is absent" : undefined),
  some: (operand) => {
    const words = operatorWords(operand, VALUE_WORDS);
    return words && `is a list with an element that ${words.join(" and ")}`;
  },
  every: (operand) => {
    const words = operatorWords(operand, VALUE_WORDS);
    return words && `is a list of which every element ${words.join(" and ")}`;
  },
};

function argumentWords(data: unknown): string | undefined {
  const called = textWords("the tool", (data as Partial<ArgumentMatch> | undefined)?.tool);
  const clause = argumentClause(data);
  return (
    called &&
    clause &&
    `${called} and ${clause.name === "" ? "the whole of its arguments" : `its argument ${quoted(clause.name)}`} ${clause.words}`
  );
}

/**
 * The part about the value: "amount", "is above 500".
 *
 * @param data of `mcp_tool_argument`
 * @returns undefined without words for it; name "" for all arguments
 */
export function argumentClause(data: unknown): { readonly name: string; readonly words: string } | undefined {
  const { tool: _, argument, ...rest } = (data ?? {}) as Partial<ArgumentMatch>;
  const words = operatorWords(rest, ARGUMENT_WORDS);
  if (words === undefined || argument === undefined) return undefined;
  return { name: argumentName(argument), words: words.join(" and ") };
}

/** "amount" for "/amount"; pointers that lead deeper stay pointers. */
function argumentName(pointer: string): string {
  return /^\/[^/~]+$/.test(pointer) ? pointer.slice(1) : pointer;
}

function one(operand: unknown, say: (text: string) => string): string | undefined {
  return typeof operand === "string" ? say(quoted(operand)) : undefined;
}

function scalar(operand: unknown, say: (text: string) => string): string | undefined {
  return ["string", "number", "boolean"].includes(typeof operand) ? say(quoted(operand)) : undefined;
}

/** Exact numbers may be written as text. */
function number(operand: unknown, relation: string): string | undefined {
  return typeof operand === "number" || typeof operand === "string" ? `is ${relation} ${operand}` : undefined;
}

function isTexts(data: unknown): data is readonly string[] {
  return Array.isArray(data) && data.every((each) => typeof each === "string");
}

/** '"a", "b" or "c"'; of long lists the first items and the number of the others. */
export function someOf(values: readonly unknown[], joint: "and" | "or"): string {
  const shown = values.slice(0, MAX_NAMES).map(quoted);
  const more = values.length - shown.length;
  const all = more > 0 ? [...shown, `${more} more`] : shown;
  const last = all.at(-1) ?? "";
  return all.length < 2 ? last : `${all.slice(0, -1).join(", ")} ${joint} ${last}`;
}

/** Texts in quotation marks; numbers and flags unchanged. */
export function quoted(value: unknown): string {
  return JSON.stringify(value) ?? "";
}
