/**
 * Problems as shown to an owner, and to users who see only some owners, if other owners are involved.
 *
 * Untrusted reader: one team of several, who may try drafts to explore other owners' configuration. Promise: the
 * message is the same for any other owner's configuration, without its name, location, addresses or values. The
 * operator's log and `lastError` name it.
 */
import type { Problem } from "../../config/load.ts";

const FOREIGN = "conflicts with another owner's configuration; the gateway's operator can see which";
/** A change makes another owner's configuration invalid. */
export const ELSEWHERE = "something that is not yours would not be valid with it; the gateway's operator can say what";

/** @param isSeen whether the file of a rival may be named; previous slices have the file's name */
export function seenProblem(problem: Problem, isSeen: (file: string) => boolean): Problem {
  const { rivals = [] } = problem;
  // A conflict with a setting is shown: the message names the route and the setting, not the setting's author.
  const isHidden = rivals.some((rival) => rival.isSetting !== true && !isSeen(rival.file.replace(/ \(kept\)$/, "")));
  if (!isHidden) return problem;
  const { rivals: _, ...rest } = problem;
  return { ...rest, message: FOREIGN };
}
