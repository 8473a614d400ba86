/**
 * The members of a federated endpoint as one user's client sees them: which have tools for the user, which are missing and why.
 *
 * Untrusted input: the endpoint's list.
 */
import { readFile } from "node:fs/promises";

import { createOperatorFetch } from "../../http/fetch/operator-fetch.ts";
import { attempting } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";
import { createAsk } from "./ask.ts";
import { describe, short } from "./rule.ts";
import { MCP_HEADERS } from "./visit.ts";

export interface MemberReport {
  /** Prefix of its tools; "" for the endpoint as a whole. */
  readonly member: string;
  readonly ok: boolean;
  readonly seen: string;
  /** The change to make. */
  readonly fix?: string;
}

const MAX_MEMBERS = 50;
/** Lists of many members are longer than the documents that clients read otherwise. */
const LIST_BOUNDS = { timeoutMs: 20_000, maxBytes: 16 * 1024 * 1024, returnsRedirects: true };
const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
const FIXES: Readonly<Record<string, string>> = {
  unavailable:
    "see Health in the console, and the log line `member of federated route has no part in response`: the server is down, too slow, or its address is wrong",
  invalid: "its responses are not valid MCP: run `gateway doctor` and an MCP client against its own address",
  "too-long":
    "its list is above the limit of 2,000 tools or 8 MiB: serve less, or allow less in the policy of its route",
};

/** @throws GatewayError `doctor.token` */
export async function readToken(file: string): Promise<string> {
  return attempting("doctor.token", `Cannot read the token in "${file}"`, async () => {
    const token = (await readFile(file, "utf8")).trim();
    if (!/^[\x21-\x7e]+$/.test(token)) throw new TypeError("it does not contain exactly one token");
    return token;
  });
}

/** @param token the user's External Token for this address */
export async function examineMembers(url: string, token: string): Promise<readonly MemberReport[]> {
  const ask = createAsk(createOperatorFetch(LIST_BOUNDS));
  const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}` };
  const answer = await ask({ method: "POST", url, headers, body: LIST });
  const { result } = answer.json() ?? {};
  const tools = isRecord(result) ? result["tools"] : undefined;
  if (!isRecord(result) || !Array.isArray(tools)) {
    const fix =
      answer.status === 401
        ? "pass a valid token of a user for this address"
        : "try it with an MCP client as this user";
    return [problem("", `the list of tools cannot be read: ${describe(answer)}`, fix)];
  }
  const meta = isRecord(result["_meta"]) ? result["_meta"] : {};
  const missing = listOf(meta["gateform/unavailable"]).slice(0, MAX_MEMBERS);
  const long = listOf(meta["gateform/too-long"]).slice(0, MAX_MEMBERS);
  const names = tools.map((tool) => (isRecord(tool) ? String(tool["name"]) : ""));
  return [
    ...(names.includes("find_tools") && names.includes("use_tool") ? [SEARCHED] : working(names)),
    ...missing.map((each) =>
      isRecord(each) ? gap(String(each["member"]), String(each["reason"]), url) : gap("", "", url),
    ),
    ...long.map((name) =>
      problem(
        String(name).split(":")[0] ?? "",
        `the tool ${String(name)} is not listed: its name with prefix has more than 64 characters`,
        "give the member a shorter prefix, or the tool a shorter name",
      ),
    ),
  ];
}

const SEARCHED: MemberReport = {
  member: "",
  ok: true,
  seen: "tools are searched, not listed (`search_tools_above`): only members with a problem are named here",
};

function working(names: readonly string[]): readonly MemberReport[] {
  const counts = new Map<string, number>();
  for (const name of names) {
    const at = name.indexOf("__");
    if (at > 0) counts.set(name.slice(0, at), (counts.get(name.slice(0, at)) ?? 0) + 1);
  }
  return [...counts]
    .slice(0, MAX_MEMBERS)
    .map(([member, count]) => ({ member: short(member), ok: true, seen: count === 1 ? "1 tool" : `${count} tools` }));
}

function gap(member: string, reason: string, url: string): MemberReport {
  const connect = `the user must connect an account: open ${new URL(url).origin}/.gateway/ and connect it`;
  const fix = reason === "not-connected" ? connect : (FIXES[reason] ?? "see the log of the gateway");
  return problem(member, reason === "not-connected" ? "no account is connected" : reason, fix);
}

function problem(member: string, seen: string, fix: string): MemberReport {
  return { member: short(member), ok: false, seen: short(seen), fix };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Lines of the text report. */
export function formatMembers(members: readonly MemberReport[]): readonly string[] {
  const width = Math.max(0, ...members.map(({ member }) => member.length));
  const lines = members.flatMap(({ member, ok, seen, fix }) => [
    `  ${(member === "" ? "-" : member).padEnd(width)}  ${ok ? "" : "problem: "}${seen}`,
    ...(fix === undefined ? [] : [`    fix:  ${fix}`]),
  ]);
  return [
    "",
    "Members for this user:",
    ...(lines.length === 0 ? ["  none has a tool for this user"] : lines),
    "A member whose policy denies everything to this user is not named: `gateway explain` shows why. `gateway check` reports members that the configuration drops, and prefixes that overlap.",
  ];
}
