/** Users in files, for `gateway diff`: a list of users with their groups, and records of a gateway. */
import { readFile } from "node:fs/promises";

import { type AskedFacts, readRecord } from "../../audit/replay/read-record.ts";
import { createVocabulary } from "../../audit/replay/vocabulary.ts";
import type { LeftOut, UserFacts } from "../../policy/facts.ts";
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
import type { LogLine } from "../../audit/log-line.ts";
import { readRecordLines } from "../replay/record-lines.ts";

const usersShape = {
  users: blockList(
    {
      id: text({ doc: "As policies name the user: `sub`, `service-account:<name>` …", unset: "the address" }),
      email: text({ doc: "Email address.", unset: "none" }),
      groups: textList({ doc: "Groups.", unset: "none" }),
      claims: textListMap({ doc: "Claims, by name, each a list of values.", unset: "none" }),
    },
    { doc: "Users, each with an id or an email address.", required: true },
  ),
};
const usersSchema = document(usersShape);
const usersFields = fieldsOf(usersShape, "live");

/** Too many users to compare one by one. */
const MAX_USERS = 10_000;

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
    if (id === undefined && email === "") report(errorAt(["users", at], "has neither an id nor an email address"));
    else if (readUserId(id ?? email) === undefined)
      report(errorAt(["users", at], `has the id ${quote(id ?? email)}, which is not a valid user ID`));
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
  /** Lines that cannot be read. */
  readonly unread: number;
  /** Number of users beyond the compared ones. */
  readonly leftOut: number;
}

/** Unknown parts of a user without the field `replay` in the record, which then has only an ID and an address. */
const UNKNOWN_PARTS: LeftOut = { groups: true, claims: [], others: true };
/** Only user IDs are known: claims are recorded as digests. */
const ASKED: AskedFacts = {
  vocabulary: createVocabulary(undefined),
  asksForCertificates: false,
  needs: { claims: new Set(), argumentsOf: () => false },
};

/**
 * Users in the records, each once with the data of their latest record; with the field `replay`, this includes their
 * groups.
 *
 * @throws GatewayError `replay.unreadable`
 */
export async function readRecordedUsers(file: string): Promise<RecordedUsers> {
  const users = new Map<string, UserFacts>();
  const beyond = new Set<string>();
  let unread = 0;
  await readRecordLines(file, {
    line(_, line) {
      const read = userOf(line);
      if (read === undefined) unread += 1;
      if (!read) return;
      const before = users.get(read.id);
      if (before === undefined && users.size >= MAX_USERS) {
        if (beyond.size < MAX_USERS) beyond.add(read.id);
      } else if (before === undefined || isTold(read) || !isTold(before)) users.set(read.id, read);
    },
  });
  return { users: [...users.values()], unread, leftOut: beyond.size };
}

function isTold({ leftOut }: UserFacts): boolean {
  return leftOut?.groups !== true;
}

/** @returns undefined for a line that cannot be read, null for one without a user */
function userOf(line: LogLine): UserFacts | null | undefined {
  const read = readRecord(line);
  if (read.kind === "broken") return undefined;
  if (read.kind === "other") return null;
  const { request } = read.check;
  try {
    const user = typeof request === "string" ? undefined : request.facts(ASKED).user;
    if (user) return { ...user, leftOut: { groups: user.leftOut?.groups ?? false, claims: [], others: true } };
  } catch {
    return undefined;
  }
  const { user: id, email } = line.kind === "record" ? line.value : {};
  if (typeof id !== "string" || readUserId(id) === undefined) return null;
  return {
    id,
    email: typeof email === "string" ? email : "",
    name: "",
    groups: [],
    claims: {},
    leftOut: UNKNOWN_PARTS,
  };
}
