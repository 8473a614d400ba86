/**
 * One hypothetical request with the active configuration: by the compiled policy that also decides requests, and the other checks,
 * in the order of proxy/decide.ts. Nothing is counted, approved or recorded.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { scopesOfTool } from "../../features/mcp/tool-scopes.ts";
import type { RateLimit } from "../../features/limits/compiled.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { calledKey, toolLockOf, type ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import { isLockedAway } from "../../mcp/tool-locks/seen-tools.ts";
import { BLOCKED, describeBlock } from "../../policy/blocks.ts";
import type { UserFacts } from "../../policy/facts.ts";
import type { RouteChoice } from "../../simulation/protocol.ts";
import { explainedActive } from "../../simulation/explain/explained-route.ts";
import { type Explained, explainRequest } from "../../simulation/explain/explain-request.ts";
import { memberQuestion } from "../../simulation/explain/federated.ts";
import { type Question, questionText, readQuestion } from "../../simulation/explain/question.ts";
import type { ConsoleRights } from "../screen.ts";
import { findRouteOf } from "./find-route.ts";

export interface InForceDeps {
  readonly blocks: Pick<Blocks, "find" | "hasTools" | "blockedTools">;
  readonly toolLocks: Pick<ToolLocks, "stateOf">;
  /** `downstream_mtls` rejects clients without a valid certificate before any policy applies. */
  readonly demandsCertificate: boolean;
}

export interface AskedInForce {
  readonly route: CompiledRoute;
  readonly question: string;
  readonly explained: Explained;
  /** Undefined: as the policy says. */
  readonly deniedBy: "block" | "lock" | undefined;
  /** Other denials, and checks next to the policy. */
  readonly besides: readonly (readonly [what: string, text: string])[];
}

/** @returns why there is no result, in words */
export function askInForce(
  { blocks, toolLocks, demandsCertificate }: InForceDeps,
  snapshot: Snapshot,
  asked: { readonly route: RouteChoice; readonly question: Question; readonly known: UserFacts | undefined },
  rights: ConsoleRights,
): AskedInForce | string {
  const { question, known } = asked;
  const route = findRouteOf(snapshot, asked.route);
  // A route of another owner is reported as absent.
  if (!route || !rights.may("viewer", route.owner)) return "No route that you can view matches";
  const explainedRoute = explainedActive(route, blocks);
  const read = readQuestion(question, explainedRoute, { known });
  if (!read.ok) return `Route ${route.key}: ${read.problem}`;
  const { facts } = read;
  const { mcpEnabled } = snapshot.settings;
  const explained = explainRequest(explainedRoute, facts, { mcpEnabled, demandsCertificate });
  const tool = facts.mcp?.tool;
  const block = blocks.find({ user: facts.user, routeKey: route.key, tool });
  const lock = toolLockOf(route);
  const used = lock && facts.mcp && calledKey(lock, facts.mcp);
  const state =
    lock === undefined || used === undefined
      ? undefined
      : toolLocks.stateOf(route, lock, used, JSON.stringify([facts.user?.id, undefined]));
  const isLocked = state !== undefined && isLockedAway(lock, state);
  const deniedBy = block ? "block" : isLocked && explained.verdict !== "denied" ? "lock" : undefined;
  const isServer = route.mcp?.kind === "server" ? route.mcp : undefined;
  const scopes = tool === undefined || !isServer?.toolScopes ? [] : scopesOfTool(isServer.toolScopes, tool);
  const besides: (readonly [string, string])[] = [];
  if (block) {
    const { kind, name, until, reason } = describeBlock(block);
    // Owners of routes do not see why a user, or a tool on all routes, is blocked.
    const isOfRoute = kind === "route" || block.route !== undefined;
    const why = `${kind} ${name}${until === "" ? "" : ` until ${until}`}${reason === "" ? "" : `: ${reason}`}`;
    const text = rights.owners === undefined || isOfRoute ? why : "by an administrator";
    besides.push(["Blocked", `${text} (${BLOCKED}, blocked-${kind})`]);
  }
  if (state !== undefined && lock !== undefined)
    besides.push(["Tool lock", `${STATES[state]}${isLocked ? "; calls are denied" : ""}`]);
  if (scopes.length > 0)
    besides.push(["Scopes", `an OAuth client needs ${scopes.join(" ")}, else it is asked to get them`]);
  const second = explainedRoute.federated && memberQuestion(question, explainedRoute.federated);
  if (second !== undefined) {
    const text =
      typeof second === "string"
        ? second
        : `route ${second.key} decides as well: ask about ${second.question.tool ?? second.question.prompt ?? second.question.resource ?? ""} there`;
    besides.push(["Member", text]);
  }
  if (deniedBy === undefined && explained.verdict !== "denied")
    for (const limit of (route.rateLimits ?? []).filter(({ tools }) => tools === undefined || tools.has(tool ?? "")))
      besides.push(["Limit", limitText(limit)]);
  return {
    route,
    question: questionText(known ? namedAs(question, known) : question, route.key),
    explained,
    deniedBy,
    besides,
  };
}

const STATES = {
  reviewed: "matches the lock",
  changed: "differs from the lock",
  unlocked: "not in the lock",
  unseen: "not listed yet",
} as const;

function namedAs(question: Question, { id: user, email }: UserFacts): Question {
  return { ...question, user, email };
}

function limitText({ name, most, windowMs, perUser, perClient, perTool }: RateLimit): string {
  const per = [...(perUser ? ["user"] : []), ...(perClient ? ["client"] : []), ...(perTool ? ["tool"] : [])];
  const what = windowMs === undefined ? `${most} at a time` : `${most} in ${windowMs / 1000} s`;
  return `${name}: ${what}${per.length === 0 ? "" : ` for each ${per.join(" and ")}`}; remaining quota not checked`;
}
