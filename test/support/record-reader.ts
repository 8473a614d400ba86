/** Records in memory, searched like the record store: for pages that show them, without a thread and a database. */
import type { KeptRecord, RecordQuery, RecordReader } from "../../runtime/record-store/record-reader.ts";
import { GatewayError } from "../../runtime/shared/errors.ts";

export interface MemoryReader extends RecordReader {
  readonly records: KeptRecord[];
  /** Questions so far. */
  readonly asked: RecordQuery[];
  /** It is unavailable. */
  isAway: boolean;
}

export function createMemoryReader(records: KeptRecord[] = []): MemoryReader {
  const check = (isAway: boolean): void => {
    if (isAway) throw new GatewayError("records.unavailable", "Cannot ask the record store");
  };
  const reader: MemoryReader = {
    records,
    asked: [],
    isAway: false,
    find(query) {
      try {
        check(reader.isAway);
        reader.asked.push(query);
        return Promise.resolve(findIn(records, query));
      } catch (error) {
        return Promise.reject(error);
      }
    },
    count({ slots, sinceMs, untilMs, ...query }) {
      if (reader.isAway) return Promise.reject(new GatewayError("records.unavailable", "Cannot ask the record store"));
      const counts = Array.from({ length: slots }, (): Record<string, number> => ({}));
      const all = findIn(records, { ...query, sinceMs, untilMs, order: "oldest", limit: Infinity });
      for (const { timeMs, outcome } of all.records) {
        const slot = counts[Math.floor(((timeMs - sinceMs) * slots) / (untilMs - sinceMs))];
        if (slot) slot[outcome] = (slot[outcome] ?? 0) + 1;
      }
      return Promise.resolve({ slots: counts });
    },
    rank({ slots, sinceMs, untilMs, by, most, ...query }) {
      if (reader.isAway) return Promise.reject(new GatewayError("records.unavailable", "Cannot ask the record store"));
      const all = findIn(records, { ...query, sinceMs, untilMs, order: "newest", limit: Infinity });
      const nameOf = (record: KeptRecord): string | undefined => record[by === "user" ? "userId" : by];
      const named = all.records.filter((record) => by === "user" || nameOf(record) !== undefined);
      const groups = [...Map.groupBy(named, nameOf).values()].toSorted((a, b) => b.length - a.length);
      const rows = groups.slice(0, most).map((same) => ({ record: same[0] as KeptRecord, count: same.length }));
      const inSlots = Array.from({ length: slots }, () => new Set<string>());
      for (const record of all.records) {
        const name = nameOf(record);
        if (name !== undefined)
          inSlots[Math.floor(((record.timeMs - sinceMs) * slots) / (untilMs - sinceMs))]?.add(name);
      }
      const distinct = groups.filter(([first]) => first && nameOf(first) !== undefined).length;
      return Promise.resolve({ rows, distinct, slots: inSlots.map(({ size }) => size) });
    },
    get(id) {
      return reader.isAway
        ? Promise.reject(new GatewayError("records.unavailable", "Cannot ask the record store"))
        : Promise.resolve(records.find((record) => record.id === id));
    },
    stats: () => Promise.resolve({ count: records.length, bytes: 0 }),
    close: () => Promise.resolve(),
  };
  return reader;
}

function findIn(
  records: readonly KeptRecord[],
  query: RecordQuery,
): ReturnType<RecordReader["find"]> extends Promise<infer P> ? P : never {
  const {
    sinceMs = 0,
    untilMs = Infinity,
    user,
    route,
    tool,
    client,
    request,
    kind,
    outcomes,
    owners,
    order,
    limit,
    cursor,
  } = query;
  const found = records
    .filter(
      (each) =>
        each.timeMs >= sinceMs &&
        each.timeMs < untilMs &&
        (kind === undefined || each.kind === kind) &&
        (user === undefined || each.userId === user || each.email === user) &&
        (route === undefined || each.route === route) &&
        (tool === undefined || each.tool === tool) &&
        (client === undefined || each.clientId === client) &&
        (request === undefined || each.value["request-id"] === request) &&
        (outcomes === undefined || outcomes.includes(each.outcome)) &&
        (owners === undefined || owners.includes(each.route?.split("/")[0] ?? "")),
    )
    .toSorted((left, right) => (order === "newest" ? right.timeMs - left.timeMs : left.timeMs - right.timeMs));
  const start = cursor === undefined ? 0 : Number(/^at(\d+)$/.exec(cursor)?.[1] ?? NaN);
  if (Number.isNaN(start))
    throw new GatewayError("records.cursor", "Cannot find records: the cursor belongs to another query");
  const end = start + limit;
  return { records: found.slice(start, end), isPartial: false, ...(end < found.length && { next: `at${end}` }) };
}

let count = 0;

/** A decision as the store has it. */
export function keptDecision(given: Partial<KeptRecord> & { readonly value?: KeptRecord["value"] } = {}): KeptRecord {
  const { outcome = "allowed", timeMs = 1_800_000_000_000, userId = "u-alice", email = "alice@example.com" } = given;
  const { route = "team-a/tools", tool } = given;
  const isAllowed = outcome === "allowed" || outcome === "limited" || outcome === "error";
  const value = {
    message: "authorize check",
    time: new Date(timeMs).toISOString(),
    allow: isAllowed,
    deny: false,
    "allow-why-true": isAllowed ? ["email-ok"] : [],
    "allow-why-false": isAllowed ? [] : ["groups-unauthorized"],
    "deny-why-true": [],
    "deny-why-false": [],
    "request-id": `request-${(count += 1)}`,
    route,
    method: "POST",
    path: "/tools/mcp",
    user: userId,
    email,
    ...(tool === undefined ? {} : { "mcp-method": "tools/call", "mcp-tool": tool }),
    ...given.value,
  };
  return { id: `r${count}`, kind: "decision", ...given, outcome, timeMs, userId, email, route, value };
}
