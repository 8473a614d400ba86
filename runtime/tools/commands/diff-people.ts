/** Users in files, for `gateway diff`: a list of users with their groups, and records of a gateway. */
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createInterface } from "node:readline";

import type { UserFacts } from "../../policy/facts.ts";
import { errorAt, formatProblem, type Problem, quote, type UnplacedProblem } from "../../settings/problem.ts";
import { readSource } from "../../settings/source.ts";
import { blockList, document } from "../../settings/types/block.ts";
import { textList } from "../../settings/types/list.ts";
import { textListMap } from "../../settings/types/map.ts";
import { fieldsOf } from "../../settings/types/registry.ts";
import { text } from "../../settings/types/scalar.ts";
import { validate } from "../../settings/validate.ts";
import { attempting, GatewayError } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";
import { readUserId } from "../../shared/user-id.ts";

const usersShape = {
  users: blockList(
    {
      id: text({ doc: "As policies name the user: `sub`, `service-account:<name>` …", unset: "the address" }),
      email: text({ doc: "E-mail address.", unset: "none" }),
      groups: textList({ doc: "Groups.", unset: "none" }),
      claims: textListMap({ doc: "Claims, by name, each a list of values.", unset: "none" }),
    },
    { doc: "Users, each with an id or an e-mail address.", required: true },
  ),
};
const usersSchema = document(usersShape);
const usersFields = fieldsOf(usersShape, "live");

/** More are no list of people to look at one by one. */
const MAX_USERS = 10_000;
const MAX_LINE = 1024 * 1024;

/** @throws GatewayError `users.unreadable` with every problem */
export async function readUsers(file: string): Promise<readonly UserFacts[]> {
  const source = readSource(
    file,
    await attempting("users.unreadable", `Cannot read ${quote(file)}`, () => readFile(file, "utf8")),
  );
  const found: UnplacedProblem[] = [];
  const report = (problem: UnplacedProblem): void => void found.push(problem);
  const { valid } = validate(usersSchema, isRecord(source.value) ? source.value : {}, usersFields, report);
  const users = valid.users ?? [];
  for (const [at, { id, email = "" }] of users.entries()) {
    if (id === undefined && email === "") report(errorAt(["users", at], "has neither an id nor an e-mail address"));
    else if (readUserId(id ?? email) === undefined)
      report(errorAt(["users", at], `has the id ${quote(id ?? email)}, which is nobody's`));
  }
  if (users.length > MAX_USERS) report(errorAt(["users"], `has ${users.length} users, must be at most ${MAX_USERS}`));
  const problems: readonly Problem[] = [...source.problems, ...found.map((each) => ({ file, ...each }))];
  if (problems.length > 0) throw new GatewayError("users.unreadable", problems.map(formatProblem).join("\n"));
  return users.map(({ id, email = "", groups = [], claims = {} }) => ({
    id: id ?? email,
    email,
    name: "",
    groups,
    claims,
  }));
}

export interface RecordedUsers {
  readonly users: readonly UserFacts[];
  /** Lines that are no record. */
  readonly unread: number;
  /** Users beyond those that are looked at. */
  readonly leftOut: number;
}

/** Who is in the records, each once with what the latest one says; their groups where records have them. */
export async function readRecordedUsers(file: string): Promise<RecordedUsers> {
  await attempting("records.unreadable", `Cannot read ${quote(file)}`, () => stat(file));
  const users = new Map<string, UserFacts>();
  const beyond = new Set<string>();
  let unread = 0;
  for await (const line of createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity })) {
    if (line.trim() === "") continue;
    const record = parseRecord(line);
    if (record === undefined) {
      unread += 1;
      continue;
    }
    const id = record["user"];
    if (typeof id !== "string" || readUserId(id) === undefined) continue;
    if (users.size >= MAX_USERS && !users.has(id)) {
      if (beyond.size < MAX_USERS) beyond.add(id);
      continue;
    }
    const { email, groups } = recordedUser(record);
    users.set(id, {
      id,
      email: typeof email === "string" ? email : (users.get(id)?.email ?? ""),
      name: "",
      groups: Array.isArray(groups) ? groups.filter((each) => typeof each === "string") : (users.get(id)?.groups ?? []),
      claims: {},
    });
  }
  return { users: [...users.values()], unread, leftOut: beyond.size };
}

/** The field `replay` has the groups, too. */
function recordedUser(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { replay } = record;
  return isRecord(replay) && isRecord(replay["user"]) ? replay["user"] : record;
}

function parseRecord(line: string): Readonly<Record<string, unknown>> | undefined {
  if (line.length > MAX_LINE) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
