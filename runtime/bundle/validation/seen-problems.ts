/**
 * What an owner, and users who see only some owners, are told of problems that have to do with others.
 *
 * Untrusted: whoever reads it is one team of several, and tries drafts to find out what the others have. Promise: the same
 * words wherever another owner's configuration is in the way, without its name, place, addresses or values; the
 * operator's log and `lastError` name it.
 */
import type { Problem } from "../../config/load.ts";

const FOREIGN = "conflicts with another owner's configuration; the gateway's operator can see which";
/** Something of others is wrong because of a change. */
export const ELSEWHERE = "something that is not yours would not be valid with it; the gateway's operator can say what";

/** @param isSeen whether the file of a rival may be named; kept files have the name of the file */
export function seenProblem(problem: Problem, isSeen: (file: string) => boolean): Problem {
  const { rivals = [] } = problem;
  // Against a setting: the message is about the route and the setting's name, and says nothing of who wrote it.
  const isHidden = rivals.some((rival) => rival.isSetting !== true && !isSeen(rival.file.replace(/ \(kept\)$/, "")));
  if (!isHidden) return problem;
  const { rivals: _, ...rest } = problem;
  return { ...rest, message: FOREIGN };
}
