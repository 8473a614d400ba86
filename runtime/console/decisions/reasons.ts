/** The reasons of a decision in words. Codes that are unknown here stand as they are. */
import type { KeptRecord } from "../../record-store/record-reader.ts";

const WORDS: Readonly<Record<string, string>> = {
  blocked: "blocked by an administrator",
  "policy-error": "policy evaluation error",
  "http-path-ambiguous": "ambiguous path",
  "user-unauthenticated": "not signed in",
  "device-unauthenticated": "no verified device",
  "insufficient-scope": "the token lacks a scope that the tool needs",
  "tool-changed": "the tool differs from the lock",
  "tool-not-reviewed": "the tool is not in the lock",
  "tool-not-listed": "the tool has not been listed yet",
  "approval-needed": "approval required",
  "authenticated-user": "signed in",
  accept: "public",
  reject: "always denied",
};

/** @returns one line, bounded by what a policy has of reasons */
export function reasonText({ outcome, value }: KeptRecord): string {
  const whyDenied = codes(value["deny-why-true"]);
  const whyNot = codes(value["allow-why-false"]);
  const why = codes(value["allow-why-true"]);
  if (outcome === "limited") return "rate limit exceeded";
  if (outcome === "waiting") return "pending approval";
  if (value["allow"] === true) return why.length === 0 ? "allowed" : inWords(why);
  if (value["deny"] === true && whyDenied.length > 0)
    return `deny rule matched: ${whyDenied.map(subjectOf).join(", ")}`;
  return whyNot.length === 0 ? "no allow rule matched" : inWords(whyNot);
}

function codes(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function inWords(reasons: readonly string[]): string {
  return reasons.map(wordsOf).join(", ");
}

/** Under a deny rule a criterion that holds speaks against the request. */
function subjectOf(code: string): string {
  const name = code.replace(/-(?:ok|unauthorized)$/, "");
  return SUBJECTS[name] ?? wordsOf(code);
}

function wordsOf(code: string): string {
  const known = WORDS[code];
  if (known !== undefined) return known;
  const [, name = "", ending] = /^(.+)-(ok|unauthorized|unknown)$/.exec(code) ?? [];
  const subject = SUBJECTS[name] ?? name.replaceAll("-", " ");
  if (ending === "ok") return `${subject} matched`;
  if (ending === "unauthorized") return `${subject} did not match`;
  if (ending === "unknown") return `${subject} unknown`;
  if (code.startsWith("credential-")) return `credential ${code.slice("credential-".length).replaceAll("-", " ")}`;
  return code.replaceAll("-", " ");
}

const SUBJECTS: Readonly<Record<string, string>> = {
  user: "the user",
  email: "the email address",
  domain: "the domain",
  groups: "the groups",
  claim: "a claim",
  idp: "the identity provider",
  device: "the device",
  "http-method": "the method",
  "http-path": "the path",
  "source-ip": "the address",
  "client-certificate": "the client certificate",
  "mcp-tool": "the tool",
  "mcp-tool-argument": "an argument",
  "mcp-prompt": "the prompt",
  "mcp-resource": "the resource",
  "mcp-method": "the MCP method",
};
