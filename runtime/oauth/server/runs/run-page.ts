/**
 * The page of an agent run, on the host of sign-in pages: the user named in the request decides about it.
 *
 * Untrusted input: the address (anyone could have sent it), the form, and the workload's texts. Promises: viewing
 * changes nothing. A decision must come from our own page's form, for this session and exactly the request that it
 * showed. Other users learn nothing of the run.
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { ActorClaims } from "../../../features/sign-in/agent-runs.ts";
import { readForm } from "../../../http/body.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { respondAgainLater, respondError, respondHtml } from "../../../http/respond.ts";
import { isFromOwnForm, refuseForm, refuseScript } from "../../../identity/csrf.ts";
import { nameOf, type Principal } from "../../../identity/principal.ts";
import { findSite } from "../../../identity/sites.ts";
import { workloadUser } from "../../../identity/users/asserted.ts";
import type { UserSection } from "../../../identity/users/user-endpoints.ts";
import { runDonePage, runPage, type RunServer } from "../../../pages/runs/page.ts";
import { pendingRunsSection } from "../../../pages/runs/section.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import { lowerAscii } from "../../../shared/ascii.ts";
import { parseQuery } from "../../../shared/http/query.ts";
import { visibleText } from "../../../shared/json/visible-text.ts";
import { consentScopes } from "../authorize/consent-parts.ts";
import type { IssuerSession, UpstreamStep } from "../deps.ts";
import { findIssuer, type McpServerRoute, routesOfAudience } from "../find-issuer.ts";
import { RUN_PAGE_PATH } from "../metadata.ts";
import { type RunRecord, requestDigest } from "./run-records.ts";
import { type AgentRun, actorOf, type Runs } from "./runs.ts";

const MAX_FORM_BYTES = 4_096;

export interface RunPageDeps {
  readonly runs: Runs;
  readonly session: Pick<IssuerSession, "browser" | "csrf" | "current" | "blocks">;
  readonly upstream?: Pick<UpstreamStep, "connectUrl"> | undefined;
  /** For the audit. */
  readonly onDecided?: ((run: AgentRun) => void) | undefined;
}

export async function showRun(deps: RunPageDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const site = findSite(snapshot, exchange.host);
  if (site?.authenticates !== true) return respondNothing(exchange);
  // A reader of this page could respond for its user: scripts of the host are denied.
  if (refuseScript(exchange)) return undefined;
  const principal = await personOf(deps, exchange, snapshot);
  if (!principal) return undefined;
  const query = parseQuery(exchange.query);
  const run = await findAsked(deps, snapshot, (query.ok && query.values.get("request")) || "", principal);
  if (!run) return respondEnded(exchange);
  // A run can outlive the provider's session, so it needs provider tokens that do so too.
  if (await deps.session.browser.lacksOffline?.(principal.user.id))
    return deps.session.browser.requireSignIn(exchange, snapshot, { isOffline: true });
  const returnTo = `${site.authenticateOrigin}${RUN_PAGE_PATH}?request=${run.id}`;
  const servers = await Promise.all(
    run.value.servers.map((server) => serverOf(deps, snapshot, server, { run, principal, returnTo })),
  );
  respondHtml(exchange, 200, render(deps, snapshot, run, principal, servers));
}

export async function decideRun(deps: RunPageDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const site = findSite(snapshot, exchange.host);
  if (site?.authenticates !== true) return respondNothing(exchange);
  if (!isFromOwnForm(exchange, site.origin)) return refuseForm(exchange);
  const form = await readForm(exchange, MAX_FORM_BYTES);
  const principal = await personOf(deps, exchange, snapshot);
  if (!principal) return undefined;
  const decision = form.ok ? DECISIONS.get(form.values.get("decision") ?? "") : undefined;
  if (!form.ok || decision === undefined) return refuseForm(exchange);
  const run = await findAsked(deps, snapshot, form.values.get("request") ?? "", principal);
  if (!run) return respondEnded(exchange);
  // The token is for what the page showed: a request that differs from it cannot be approved.
  if (!deps.session.csrf.verify(principal, formName(run), form.values.get("csrf_token") ?? ""))
    return refuseForm(exchange);
  const decided = await deps.runs.decide(run.id, principal, decision, requestDigest(run.value));
  if (!decided) return respondEnded(exchange);
  // Check again now that a revocation of the user can find the run: one of the two must see the other.
  if (decision === "active" && !(await deps.session.current(principal))) {
    await deps.runs.end(decided, "the user was signed out");
    return respondEnded(exchange);
  }
  deps.onDecided?.(decided);
  respondHtml(exchange, 200, runDonePage(decision, visibleText(run.value.workload.userId)));
}

const DECISIONS: ReadonlyMap<string, "active" | "refused"> = new Map([
  ["approve", "active"],
  ["refuse", "refused"],
]);

/** Runs that are pending the user's decision, on the portal. */
export function runSection({ runs }: Pick<RunPageDeps, "runs">): UserSection {
  return async ({ user }) => {
    const asked = (await runs.listAsked(user.email)).filter(({ value }) => mayDecide(value, user));
    return pendingRunsSection(
      asked.map(({ id, value }) => ({
        href: `${RUN_PAGE_PATH}?request=${id}`,
        workload: visibleText(value.workload.userId),
        purpose: visibleText(value.purpose),
        asked: new Date(value.requestedAt * 1000),
      })),
    );
  };
}

/** Undefined when a response was already sent. */
async function personOf(
  { session: { browser } }: RunPageDeps,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<Principal | undefined> {
  const who = await browser.principal(exchange, snapshot);
  if (who.ok && who.principal.kind === "session") return who.principal;
  if (who.ok) refuseForm(exchange);
  else if (who.reason === "unavailable") respondAgainLater(exchange, UNAVAILABLE);
  else await browser.requireSignIn(exchange, snapshot);
  return undefined;
}

const UNAVAILABLE = { code: "run.unavailable", message: "Agent runs cannot be looked up right now." } as const;

async function findAsked(
  { runs, session: { blocks } }: RunPageDeps,
  { settings }: Snapshot,
  id: string,
  { user }: Principal,
): Promise<AgentRun | undefined> {
  const run = await runs.find(id);
  if (run?.value.state !== "pending" || !mayDecide(run.value, user)) return undefined;
  const { workload } = run.value;
  // The rule that allowed the request may be gone.
  if (!workloadUser(settings, workload.assertedBy, workload.userId)) return undefined;
  const blocked = blocks?.find({ user: { ...user, actor: actorOf(run) } });
  return blocked ? undefined : run;
}

/** Only the named user, and only with a group that the rule requires. Unknown groups are none. */
function mayDecide({ approver, approverGroups }: RunRecord, { email, groups, leftOut }: Principal["user"]): boolean {
  if (email === "" || lowerAscii(email) !== approver) return false;
  if (approverGroups === undefined) return true;
  return leftOut?.groups !== true && approverGroups.some((group) => groups.includes(group));
}

async function serverOf(
  { upstream }: RunPageDeps,
  snapshot: Snapshot,
  url: string,
  { run, principal, returnTo }: { readonly run: AgentRun; readonly principal: Principal; readonly returnTo: string },
): Promise<RunServer> {
  const routes = routesOf(snapshot, url);
  const [route] = routes;
  if (!route) return { name: url, url, state: "gone" };
  const { name } = route;
  // As when a token is requested: policy can deny the server to this workload only.
  const user = { ...principal.user, actor: actorOf(run) };
  if (!routes.some(({ policy }) => mayReachSomething(policy, user))) return { name, url, state: "closed" };
  const connectUrl = await upstream?.connectUrl(principal, routes, returnTo, "Back to the request");
  return { name, url, state: "open", connectUrl };
}

function routesOf(snapshot: Snapshot, server: string): readonly McpServerRoute[] {
  const issuer = findIssuer(snapshot, new URL(server).host);
  return issuer ? routesOfAudience(issuer, server) : [];
}

function render(
  { session: { csrf } }: RunPageDeps,
  snapshot: Snapshot,
  run: AgentRun,
  principal: Principal,
  servers: readonly RunServer[],
) {
  const { value } = run;
  const routes = value.servers.flatMap((server) => routesOf(snapshot, server));
  const { name, issuer } = value.workload.assertedBy;
  return runPage({
    user: visibleText(nameOf(principal.user)),
    workload: visibleText(value.workload.userId),
    issuer: { name, url: visibleText(issuer) },
    claims: claimsOf(value.workload.claims),
    purpose: visibleText(value.purpose),
    approver: visibleText(value.approver),
    servers: servers.map((server) => ({ ...server, name: visibleText(server.name), url: visibleText(server.url) })),
    scopes: consentScopes(value.scope, routes).map(({ scope, tools }) => ({
      scope: visibleText(scope),
      tools: tools.map(visibleText),
    })),
    asked: new Date(value.requestedAt * 1000),
    ends: new Date(value.endsAt * 1000),
    expires: new Date(run.expiresAt * 1000),
    form: { action: RUN_PAGE_PATH, requestId: run.id, csrfToken: csrf.token(principal, formName(run)) },
  });
}

function claimsOf(claims: ActorClaims): readonly (readonly [string, string])[] {
  return Object.entries(claims).map(([name, value]) => [
    visibleText(name),
    visibleText(typeof value === "string" ? value : value.join(", ")),
  ]);
}

/** The token of one request is invalid for another, and for other content of the same one. */
function formName({ id, value }: AgentRun): string {
  return `run ${id} ${requestDigest(value)}`;
}

function respondNothing(exchange: Exchange): void {
  respondError(exchange, 404, { code: "not-found", message: "Agent runs are on the host of the sign-in pages" });
}

/** Also for unknown IDs: the address reveals nothing to other users. */
function respondEnded(exchange: Exchange): void {
  respondError(exchange, 404, {
    code: "run.ended",
    message: "No agent run is pending for you: it was already decided, expired or ended, or names another user.",
    links: [{ href: "/.gateway/", text: "See your page" }],
  });
}
