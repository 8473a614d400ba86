/** The second decision about a request to a federated route: that of the member, under its own name for what is used. Pure. */
import { readAdvertised, readAppUri } from "../../mcp/federation/names.ts";
import type { FederatedSettings } from "./explained-route.ts";
import type { Question } from "./question.ts";

export interface QuestionToMember {
  /** Key of the member's route. */
  readonly key: string;
  readonly question: Question;
}

/** @returns a text: why no member can be named; undefined: the question is about no member */
export function memberQuestion(
  question: Question,
  { members, resourcePrefixes }: FederatedSettings,
): QuestionToMember | string | undefined {
  const { tool, prompt, resource } = question;
  const name = tool ?? prompt;
  if (name !== undefined) {
    const found = readAdvertised(name);
    const key = found && members.get(found.prefix);
    if (!found || key === undefined) return `no member has the prefix of "${name}", so the endpoint answers -32602`;
    return { key, question: { ...question, ...(tool === undefined ? { prompt: found.name } : { tool: found.name }) } };
  }
  if (resource === undefined) return undefined;
  const app = readAppUri(resource);
  const prefix = app?.prefix ?? resourcePrefixes.find(([start]) => resource.startsWith(start))?.[1];
  const key = prefix === undefined ? undefined : members.get(prefix);
  if (key === undefined) return "the policy of the member that lists this URI decides as well";
  return { key, question: { ...question, resource: app?.name ?? resource } };
}
