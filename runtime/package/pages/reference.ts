/** Tables of runtime/reference/: every code of an error, every warning of the log. */
import { CONSOLE_CODES } from "../../http/codes/console.ts";
import { OAUTH_PAGE_CODES } from "../../http/codes/oauth.ts";
import { REQUEST_CODES } from "../../http/codes/request.ts";
import { LIMIT_CODES } from "../../http/codes/limits.ts";
import { RECORD_CODES } from "../../http/codes/records.ts";
import { CATALOG_CODES } from "../../http/codes/catalog.ts";
import { CONNECT_CODES } from "../../http/codes/connect.ts";
import { ROUTE_CODES } from "../../http/codes/route.ts";
import { SIGN_IN_CODES } from "../../http/codes/sign-in.ts";
import type { CodeEntry } from "../../http/codes/entry.ts";
import { GRPC, grpcStatusOf } from "../../http/grpc.ts";
import { refusal, REFUSAL_REASONS } from "../../mcp/refusals.ts";
import { ADMIN_CODES, MCP_DENIALS, MCP_REMEDIES, OAUTH_CODES } from "./code-tables.ts";
import { LOG_MESSAGES } from "./log-messages.ts";
import { code, table } from "./parts.ts";

type Codes = Readonly<Record<string, CodeEntry>>;

export function errorParts(): Readonly<Record<string, string>> {
  return {
    "route-codes": callTable({ ...ROUTE_CODES, ...CATALOG_CODES, ...CONNECT_CODES, ...LIMIT_CODES, ...RECORD_CODES }),
    "request-codes": callTable(REQUEST_CODES),
    "sign-in-codes": pageTable({ ...SIGN_IN_CODES, ...CONSOLE_CODES }),
    "client-codes": pageTable(OAUTH_PAGE_CODES),
    "mcp-codes": mcpTable(),
    "oauth-codes": oauthTable(),
    "admin-codes": adminTable(),
  };
}

export function logParts(): Readonly<Record<string, string>> {
  return { "log-messages": logTables() };
}

/** Table of codes that also occur in gRPC calls. */
function callTable(codes: Codes): string {
  const rows = inOrder(codes).map(([name, entry]) => {
    const statuses = statusesOf(entry);
    const grpc = new Set(statuses.map((status) => grpcName(grpcStatusOf(status, name))));
    return [code(name), statuses.join(", "), [...grpc].join(", "), ...words(entry)];
  });
  return table(["Code", "Status", "gRPC", "Cause", "Fix"], rows);
}

/** As in gRPC's own documents: PERMISSION_DENIED. */
function grpcName(status: number): string {
  const [name = ""] = Object.entries(GRPC).find(([, number]) => number === status) ?? [];
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

function pageTable(codes: Codes): string {
  const rows = inOrder(codes).map(([name, entry]) => [code(name), statusesOf(entry).join(", "), ...words(entry)]);
  return table(["Code", "Status", "Cause", "Fix"], rows);
}

function inOrder(codes: Codes): readonly (readonly [name: string, entry: CodeEntry])[] {
  return Object.entries(codes).toSorted(([left], [right]) => left.localeCompare(right, "en"));
}

function statusesOf({ status }: CodeEntry): readonly number[] {
  return typeof status === "number" ? [status] : status;
}

function words({ cause, fix }: CodeEntry): readonly [cause: string, fix: string] {
  return [cause, fix || NOTHING];
}

const NOTHING = "–";

function mcpTable(): string {
  const refused = REFUSAL_REASONS.map((reason) => {
    const { status, code: number, text } = refusal(reason);
    return [code(reason), `${status}; ${String(number).replace("-", "−")}`, text, MCP_REMEDIES[reason]];
  });
  const denied = MCP_DENIALS.map(([reason, ...others]) => [code(reason), ...others]);
  return table(["`data.reason`", "Status; JSON-RPC", "Cause", "Fix"], [...denied, ...refused]);
}

function oauthTable(): string {
  const rows = Object.entries(OAUTH_CODES).map(([name, others]) => [code(name), ...others]);
  return table(["Code", "Status", "Cause", "Fix"], rows);
}

function adminTable(): string {
  const rows = Object.entries(ADMIN_CODES).map(([name, [statuses, cause, fix]]) => [
    code(name),
    statuses.join(", "),
    cause,
    fix || NOTHING,
  ]);
  return table(["Code", "Status", "Cause", "Fix"], rows);
}

function logTables(): string {
  return Object.entries(LOG_MESSAGES)
    .map(([group, messages]) => {
      const rows = Object.entries(messages).map(([message, fix]) => [message, fix]);
      return `## ${group}\n\n${table(["Message", "Fix"], rows)}`;
    })
    .join("\n\n");
}
