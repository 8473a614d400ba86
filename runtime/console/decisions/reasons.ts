/** The reasons of a decision in words. Codes that are unknown here stand as they are. */
import type { KeptRecord } from "../../record-store/record-reader.ts";

const WORDS: Readonly<Record<string, string>> = {
  blocked: "an administrator has blocked this",
  "policy-error": "the policy could not be evaluated",
  "http-path-ambiguous": "servers read the path in several ways",
  "user-unauthenticated": "nobody is signed in",
  "device-unauthenticated": "no registered device was shown",
  "insufficient-scope": "the token lacks a scope that the tool needs",
  "tool-changed": "it is not as it was reviewed",
  "tool-not-reviewed": "it was never reviewed",
  "tool-not-listed": "no list has shown it yet",
  "approval-needed": "somebody has to approve the call",
  "authenticated-user": "somebody is signed in",
  accept: "everybody may",
  reject: "nobody may",
};

/** @returns one line, bounded by what a policy has of reasons */
export function reasonText({ outcome, value }: KeptRecord): string {
  const whyDenied = codes(value["deny-why-true"]);
  const whyNot = codes(value["allow-why-false"]);
  const why = codes(value["allow-why-true"]);
  if (outcome === "limited") return "over a limit of the route";
  if (outcome === "waiting") return "waits for an approval";
  if (value["allow"] === true) return why.length === 0 ? "allowed" : inWords(why);
  if (value["deny"] === true && whyDenied.length > 0)
    return `a deny rule holds: ${whyDenied.map(subjectOf).join(", ")}`;
  return whyNot.length === 0 ? "no rule lets anybody in" : inWords(whyNot);
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
  if (ending === "ok") return `${subject} ${name === "groups" ? "fit" : "fits"}`;
  if (ending === "unauthorized") return `${subject} ${name === "groups" ? "do" : "does"} not fit`;
  if (ending === "unknown") return `${subject} ${name === "groups" ? "are" : "is"} not known`;
  if (code.startsWith("credential-"))
    return `the credential is ${code.slice("credential-".length).replaceAll("-", " ")}`;
  return code.replaceAll("-", " ");
}

const SUBJECTS: Readonly<Record<string, string>> = {
  user: "the user",
  email: "the e-mail address",
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
