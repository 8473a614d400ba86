/**
 * A stored record: its text, and the searchable values as numbers, so that rows and indexes are small.
 *
 * Names become the first 48 bits of their SHA-256. Two names with the same number can be made on purpose, so readers
 * compare the names themselves (`isAskedFor`).
 */
import { hash } from "node:crypto";

import { CHECK_MESSAGE } from "../audit/log-line.ts";
import { asksToSignIn } from "../audit/sign-in-reasons.ts";
import { lowerAscii } from "../shared/ascii.ts";
import { isRecord, parseObject } from "../shared/is-record.ts";
import { ownerOfRoute } from "../shared/route-key.ts";
import { formatId, recordId, timeOf } from "./record-id.ts";
import type { KeptRecord, RecordQuery } from "./record-reader.ts";

/** Searchable columns; each has an index of the rows with a value. */
export const COLUMNS = ["usr", "mail", "route", "owner", "tool", "client", "outcome", "kind", "request"] as const;
export type Column = (typeof COLUMNS)[number];

export interface Row {
  /** The next one if another record has it. */
  id: bigint;
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  /** Null: no value; for `outcome` and `kind`: the usual value, which no index contains. */
  readonly columns: Readonly<Record<Exclude<Column, "outcome">, number | null>>;
  outcome: number | null;
  /** JSON of the copy. */
  readonly text: string;
  /** JSON of its outcome. */
  result: string | null;
}

const KINDS = ["decision", "action", "other"] as const satisfies readonly KeptRecord["kind"][];
export const OUTCOMES = [
  "allowed",
  "denied",
  "limited",
  "waiting",
  "error",
  "sign-in",
] as const satisfies readonly KeptRecord["outcome"][];

export function kindNumber(kind: KeptRecord["kind"]): number | null {
  return KINDS.indexOf(kind) || null;
}

export function outcomeNumber(outcome: KeptRecord["outcome"]): number | null {
  return OUTCOMES.indexOf(outcome) || null;
}

/** Searchable fields of a stored record: texts only, whatever a copy contains. */
interface Fields {
  readonly userId: string | undefined;
  readonly email: string | undefined;
  readonly route: string | undefined;
  readonly tool: string | undefined;
  readonly clientId: string | undefined;
  readonly requestId: string | undefined;
}

/** @param text of the value, JSON @param now time for a record without one */
export function toRow(value: Readonly<Record<string, unknown>>, text: string, now: number): Row {
  const { userId, email, route, tool, clientId, requestId } = fieldsOf(value);
  const { time, instance, seq } = value;
  const written = Date.parse(String(time));
  const timeMs = Number.isNaN(written) ? now : written;
  // All copies have their position; one that was edited on the disk may not.
  const place = typeof seq === "number" ? seq : nameNumber(text);
  return {
    id: recordId(timeMs, String(instance), place),
    timeMs,
    columns: {
      usr: numberOf(userId),
      mail: numberOf(email && lowerAscii(email)),
      route: numberOf(route),
      owner: numberOf(route && ownerOfRoute(route)),
      tool: numberOf(tool),
      client: numberOf(clientId),
      kind: kindNumber(kindOf(value)),
      request: numberOf(requestId),
    },
    outcome: outcomeNumber(outcomeOf(value)),
    text,
    result: null,
  };
}

/** @returns undefined when the text of the row is not a record */
export function toKept(row: {
  readonly id: bigint;
  readonly outcome: number;
  readonly text: string;
  readonly result: string | null;
}): KeptRecord | undefined {
  const value = parseObject(row.text);
  if (value === undefined) return undefined;
  const { userId, email, route, tool, clientId } = fieldsOf(value);
  const outcome = OUTCOMES[row.outcome] ?? "allowed";
  const result = row.result === null ? undefined : (parseObject(row.result) as KeptRecord["result"]);
  return {
    id: formatId(row.id),
    timeMs: timeOf(row.id),
    kind: kindOf(value),
    // Rows of version 1 have no outcome of their own for it.
    outcome: outcome === "denied" ? outcomeOf(value) : outcome,
    ...(userId !== undefined && { userId }),
    ...(email !== undefined && { email }),
    ...(route !== undefined && { route }),
    ...(tool !== undefined && { tool }),
    ...(clientId !== undefined && { clientId }),
    value,
    ...(result !== undefined && { result }),
  };
}

/** Whether its names are those of the query, and not others with the same number. */
export function isAskedFor(
  record: KeptRecord,
  { user, route, tool, client, owners, request, outcomes }: Omit<RecordQuery, "order" | "limit">,
): boolean {
  const isUser = user === undefined || record.userId === user || lowerAscii(record.email ?? "") === lowerAscii(user);
  return (
    isUser &&
    (route === undefined || record.route === route) &&
    (tool === undefined || record.tool === tool) &&
    (client === undefined || record.clientId === client) &&
    (request === undefined || record.value["request-id"] === request) &&
    (outcomes === undefined || outcomes.includes(record.outcome)) &&
    (owners === undefined || (record.route !== undefined && owners.includes(ownerOfRoute(record.route))))
  );
}

/** The number of a name. */
export function nameNumber(name: string): number {
  const known = numbers.get(name);
  if (known !== undefined) return known;
  const number = Number.parseInt(hash("sha256", name).slice(0, 12), 16);
  if (numbers.size >= MAX_NUMBERS) numbers.clear();
  numbers.set(name, number);
  return number;
}

const MAX_NUMBERS = 20_000;
const numbers = new Map<string, number>();

function numberOf(name: string | undefined): number | null {
  return name === undefined || name === "" ? null : nameNumber(name);
}

function fieldsOf(value: Readonly<Record<string, unknown>>): Fields {
  return {
    // For an action: its actor.
    userId: textOf(value["user"]) ?? (kindOf(value) === "action" ? textOf(value["by"]) : undefined),
    email: textOf(value["email"]),
    route: textOf(value["route"]),
    tool: textOf(value["mcp-tool"]),
    clientId: textOf(value["client-id"]),
    requestId: textOf(value["request-id"]),
  };
}

function kindOf({ message }: Readonly<Record<string, unknown>>): KeptRecord["kind"] {
  if (message === CHECK_MESSAGE) return "decision";
  return message === "administrative action" ? "action" : "other";
}

function outcomeOf(value: Readonly<Record<string, unknown>>): KeptRecord["outcome"] {
  if (value["message"] !== CHECK_MESSAGE) return "allowed";
  const isAllowed = value["allow"] === true && value["deny"] !== true;
  if (isAllowed) return value["limited"] === undefined ? "allowed" : "limited";
  const approval: unknown = value["approval"];
  if (isRecord(approval) && approval["state"] === "waiting") return "waiting";
  return isSignIn(value) ? "sign-in" : "denied";
}

function isSignIn({ user, deny, "allow-why-false": reasons }: Readonly<Record<string, unknown>>): boolean {
  const isAnonymous = user === undefined && deny !== true;
  return isAnonymous && Array.isArray(reasons) && asksToSignIn(reasons);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
