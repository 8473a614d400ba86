/**
 * Pending work of administrators, for the navigation of each page and for Overview.
 *
 * Promises: the store is asked at most every few seconds, whatever number of pages is shown; a page never waits long for it, and is
 * shown without it.
 */
import { askerOf } from "../../approvals/approval-records.ts";
import type { Approvals } from "../../approvals/interfaces.ts";
import { toCall, type WaitingCall } from "../../approvals/waiting.ts";
import type { HealthReader } from "../../health/health.ts";
import { TIERS } from "../../health/tiers.ts";
import type { ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import type { FrameStatus, NavigationCount } from "../../pages/console/frame.ts";
import { mayApprove } from "../../policy/mcp/approval.ts";
import { type Clock, epochSeconds, within } from "../../shared/clock.ts";
import { ownerOfRoute } from "../../shared/route-key.ts";
import { type HealthFacts, healthFacts, rememberHealth } from "../health/facts.ts";
import { gather } from "../health/gather.ts";
import { isSilent } from "../health/problems.ts";
import { driftOf } from "./attention.ts";
import { remember } from "./remember.ts";
import type { ConsoleRequest } from "../screen.ts";
import { visibleRoutes } from "../servers/list-servers.ts";
import { showUntrusted } from "../show-untrusted.ts";

export interface StatusDeps {
  readonly health: HealthReader;
  readonly approvals: Pick<Approvals, "pageWaiting">;
  readonly toolLocks: Pick<ToolLocks, "differences">;
  readonly clock: Clock;
}

export interface ConsoleStatus {
  /** Which asks the store at most every few seconds. */
  readonly health: HealthReader;
  /** Calls of the owners that this administrator may see, the first to expire first. @throws GatewayError `store.unavailable` */
  pending(visit: Viewer): Promise<readonly WaitingCall[]>;
  /** Counts for the frame; undefined if late. Never rejects. */
  frame(visit: Viewer): Promise<FrameStatus | undefined>;
}

type Viewer = Pick<ConsoleRequest, "snapshot" | "rights" | "principal">;

const REMEMBERED_MS = 10_000;
const FRAME_WITHIN_MS = 150;
const MOST_PENDING = 1_000;

export function createStatus({ approvals, toolLocks, clock, ...deps }: StatusDeps): ConsoleStatus {
  const health = rememberHealth(deps.health, clock);
  const allPending = remember<readonly WaitingCall[]>(clock, REMEMBERED_MS);
  const gathered = remember<Awaited<ReturnType<typeof gather>>>(clock, REMEMBERED_MS);

  const pending: ConsoleStatus["pending"] = async ({ rights }) => {
    const all = await allPending("", async () => (await approvals.pageWaiting(MOST_PENDING)).map(toCall));
    return all
      .filter(({ value }) => rights.may("viewer", ownerOfRoute(value.routeKey)))
      .toSorted((a, b) => a.expiresAt - b.expiresAt);
  };

  const read = async (visit: Viewer): Promise<FrameStatus> => {
    const [facts, calls] = await Promise.all([
      gathered("", () => gather(health, TIERS[0])).then((all) => healthFacts(all, visit, epochSeconds(clock))),
      pending(visit).catch((): readonly WaitingCall[] => []),
    ]);
    const drift = driftOf(visibleRoutes(visit), toolLocks);
    const tools = drift.reduce((sum, { changed, added }) => sum + changed.length + added, 0);
    const isBad = facts.problems.some(({ tone }) => tone === "bad");
    const counts: readonly (readonly [path: string, count: NavigationCount])[] = [
      ["approvals", { count: calls.length, of: "pending", tone: "attn" }],
      ["health", { count: facts.problems.length, of: "problems", tone: isBad ? "alarm" : "attn" }],
      ["tool-lock", { count: tools, of: "differ from the lock", tone: "attn" }],
    ];
    return {
      counts: new Map(counts.filter(([, { count }]) => count > 0)),
      active: activeOf(facts, epochSeconds(clock)),
    };
  };

  return {
    health,
    pending,
    frame: (visit) =>
      within<FrameStatus | undefined>(
        FRAME_WITHIN_MS,
        read(visit).catch(() => undefined),
        () => undefined,
      ),
  };
}

/** "Generation 218 active on 2 of 2 processes". */
function activeOf({ reports, others }: HealthFacts, now: number): FrameStatus["active"] {
  const [own] = reports;
  if (!own) return undefined;
  const { digest, published } = own.configuration;
  const all = [...reports, ...others];
  const same = [
    ...reports.filter((report) => report.configuration.digest === digest && !isSilent(report, now)),
    ...others.filter((other) => other.digest === digest),
  ].length;
  const name =
    published && published.inForce > 0
      ? `Generation ${published.inForce}`
      : `Configuration ${showUntrusted(digest.slice(0, 8))}`;
  return { name, same, all: all.length };
}

/** Whether this administrator can decide about the call. Callers never decide about their own. */
export function isWaitingFor({ principal, rights }: Viewer, { value }: WaitingCall): boolean {
  const asker = askerOf(value);
  return (
    principal.user.id !== asker.id &&
    value.approvers.length > 0 &&
    rights.may("approver", ownerOfRoute(value.routeKey)) &&
    mayApprove(value.approvers, asker, principal.user)
  );
}
