/** Steps of federated routes, and of the requests to their members. */
import { createFederatedSessions } from "../../mcp/federation/sessions.ts";
import type { Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import type { Tracing } from "../../tracing/tracing.ts";
import { decideMcp, type DecideMcpDeps } from "../approval/decide-mcp.ts";
import type { ChallengeDeps } from "../mcp-route.ts";
import { authenticateToken, requireBoundToken } from "../tokens/presented-token.ts";
import { createScopeChallenges } from "../answers/require-scopes.ts";
import { firstChecks, type ClientCertificateDeps } from "../first-checks.ts";
import type { Authenticator, Revocations } from "../../identity/interfaces.ts";
import { answerPreflight, checkOrigin, findMcpPath, readMessage, takeMessage, type MessageDeps } from "../mcp-route.ts";
import { narrowListen } from "../narrow-listen.ts";
import { createRequestContext } from "../request-context.ts";
import { runSteps, type Step } from "../steps.ts";
import type { RunMember } from "./ask-member.ts";
import type { ClientStreamDeps } from "./streams/client-stream.ts";
import { federate, type FederateDeps } from "./federate.ts";
import { openUseTool } from "./discovery/open-use-tool.ts";
import { openFederatedSession } from "./sessions.ts";

export interface FederationDeps
  extends
    ChallengeDeps,
    Omit<DecideMcpDeps, "approvalStates" | "scopeChallenges">,
    ClientCertificateDeps,
    Omit<FederateDeps, "run" | "federatedSessions" | keyof ClientStreamDeps> {
  readonly authenticator: Authenticator;
  readonly revocations: Revocations;
  readonly keys: Keys;
  readonly tracing?: Tracing | undefined;
  readonly log: Log;
  readonly blocks?: NonNullable<DecideMcpDeps["blocks"] & MessageDeps["blocks"] & FederateDeps["blocks"]>;
}

/** @param calls the steps of a member's route once the caller is known */
export function federatedSteps(
  deps: FederationDeps,
  own: Pick<DecideMcpDeps, "approvalStates"> & ClientStreamDeps,
  calls: readonly Step[],
): readonly Step[] {
  const bound = { ...deps, ...own, federatedSessions: createFederatedSessions(deps) };
  return [
    ...firstChecks(deps),
    checkOrigin(deps),
    answerPreflight,
    authenticateToken(deps),
    requireBoundToken(deps),
    findMcpPath(deps),
    readMessage(deps),
    openUseTool(deps),
    takeMessage(deps),
    openFederatedSession(bound),
    // Its policy has no rules with approvals: those are the members'.
    decideMcp({ ...bound, scopeChallenges: createScopeChallenges(deps) }),
    narrowListen(deps),
    federate({ ...bound, run: runMember(deps, [...firstChecks(deps), ...calls]) }),
  ];
}

/** The same steps as for a direct call, but that the federated route has authenticated the caller. */
function runMember({ tracing, log }: FederationDeps, steps: readonly Step[]): RunMember {
  return (exchange, { prepared }, caller) => {
    const trace = tracing?.begin(exchange);
    trace?.routed(prepared.route);
    const context = createRequestContext(exchange, caller.snapshot, prepared, trace, undefined);
    context.principal = caller.principal;
    context.federated = {
      route: caller.prepared.route.key,
      name: exchange.calledAs,
      message: exchange.message,
    };
    runSteps(steps, context, log);
  };
}
