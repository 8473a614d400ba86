/** Whether a record is about a user: they made the request, performed the action, or own its target. */
import { lowerAscii } from "../shared/ascii.ts";
import { isRecord } from "../shared/is-record.ts";

export interface UserNames {
  readonly ids: readonly string[];
  readonly emails: readonly string[];
}

/** Does not search the arguments of calls, which others wrote. */
export function isAboutUser(value: Readonly<Record<string, unknown>>, { ids, emails }: UserNames): boolean {
  const { user, email, by, target, approval } = value;
  const isId = (name: unknown): boolean => typeof name === "string" && ids.includes(name);
  const isEmail = (name: unknown): boolean =>
    typeof name === "string" && emails.some((each) => lowerAscii(each) === lowerAscii(name));
  if (isId(user) || isEmail(email) || isId(by) || (isRecord(approval) && isId(approval["by"]))) return true;
  if (typeof target !== "string") return false;
  const folded = lowerAscii(target);
  return ids.some((id) => isNamedIn(target, id)) || emails.some((email) => isNamedIn(folded, lowerAscii(email)));
}

/** Matches texts such as "device 1 of alice" and "approval 1 of alice: tool on route"; IDs may contain blanks. */
function isNamedIn(target: string, name: string): boolean {
  if (name === "") return false;
  for (let at = target.indexOf(name); at !== -1; at = target.indexOf(name, at + 1)) {
    const next = target[at + name.length];
    if ((at === 0 || target[at - 1] === " ") && (next === undefined || next === " " || next === ":")) return true;
  }
  return false;
}
