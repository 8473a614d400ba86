/**
 * `grant_type=…:token-exchange` with a platform token: a workload gets an access token of the user who approved its
 * agent run, for one of the run's MCP servers.
 *
 * Untrusted input: the token, until its issuer's signature is verified. Promises: the run is found by attested claims,
 * never by an ID. The access token opens at most what the run requested and the user can do, and ends at the latest
 * with the run and the platform's token. The user is checked as for a refresh. There is no refresh token: renewing is
 * another exchange.
 *
 * @see RFC 8693
 */
import type { Exchange } from "../../../http/exchange.ts";
import type { IssuerKeys } from "../../../issuers/issuer-keys.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import type { Parameters } from "../../../shared/http/query.ts";
import type { UserId } from "../../../shared/user-id.ts";
import { pass, refuse, refuseBlocked, type StepResult } from "../answer.ts";
import { routesOfAudience } from "../find-issuer.ts";
import { attest, type Attested, findOpened } from "../runs/attest-run.ts";
import { type AgentRun, actorOf } from "../runs/runs.ts";
import { scopesSupported, toolScopesIn } from "../scope.ts";
import { boundTo } from "./access-token.ts";
import { badAssertion, chooseScope } from "./id-jag-claims.ts";
import { latestEnd, useOnce } from "./platform-token.ts";
import type { TokenAnswer } from "./refresh-token.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

type RunDeps = TokenDeps & { readonly issuerKeys: IssuerKeys };
type RunRequest = Omit<TokenRequest, "client">;

const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";
export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
/** Members that authenticate a client, name another audience, or another actor: none of them has a meaning here. */
const NOT_UNDERSTOOD = ["client_id", "client_secret", "client_assertion", "audience", "actor_token"];

/** Only the platform's token identifies the caller. @returns a refusal for requests that say more */
export function checkExchange(exchange: Exchange, form: Parameters): StepResult<undefined> {
  const found = NOT_UNDERSTOOD.find((name) => form.has(name));
  if (found !== undefined) return refuse("invalid_request", `${found} is not supported in a token exchange`);
  return exchange.headerValues("authorization").length > 0
    ? refuse("invalid_request", "The subject_token is the only credential of a token exchange")
    : pass(undefined);
}

export async function exchangeRun(deps: RunDeps, request: RunRequest): Promise<StepResult<TokenAnswer>> {
  const { form, snapshot } = request;
  const token = form.get("subject_token");
  const resource = form.get("resource");
  if (token === undefined || resource === undefined)
    return refuse("invalid_request", `${token === undefined ? "subject_token" : "resource"} is missing`);
  if (form.get("subject_token_type") !== JWT_TYPE)
    return refuse("invalid_request", `subject_token_type must be ${JWT_TYPE}`);
  if ((form.get("requested_token_type") ?? ACCESS_TOKEN_TYPE) !== ACCESS_TOKEN_TYPE)
    return refuse("invalid_request", "requested_token_type must be that of an access token");

  const { issuerKeys, failedProofs } = deps;
  const attested = await attest({ issuerKeys, failedProofs, blocks: deps.session.blocks }, request, token);
  if (!attested.ok) return attested;
  const run = await deps.runs.findOf(attested.value.pointer);
  const userId = run?.value.state === "active" ? run.value.userId : undefined;
  if (!run || userId === undefined) return badAssertion("no approved agent run of this workload", "workload");

  // The run names its servers, and the rule must still open this one, on this host.
  const opened = findOpened(snapshot, attested.value, resource);
  const { audience } = opened ?? {};
  if (opened?.issuer !== request.issuer || audience === undefined || !run.value.servers.includes(audience))
    return refuse("invalid_target", "resource must be an MCP server of the agent run", "run: not one of its servers");
  const supported = scopesSupported(routesOfAudience(request.issuer, audience));
  const scope = chooseScope({ scope: run.value.scope }, form.get("scope") ?? run.value.scope, supported);
  if (!scope.ok) return scope;

  const end = await confirmUser(deps, request, { run, userId, audience });
  return end.ok
    ? issue(deps, request, attested.value, { run, userId, audience, scope: scope.value, sessionEnd: end.value })
    : end;
}

/** The same as for a refresh of the user's own grant. @returns end of the session for new tokens */
async function confirmUser(
  deps: RunDeps,
  request: RunRequest,
  { run, userId, audience }: Pick<Allowed, "run" | "userId" | "audience">,
): Promise<StepResult<number>> {
  const { identities, blocks } = deps.session;
  const { sessionExpiresAt = 0, workload } = run.value;
  const actor = actorOf(run);
  // Before the provider is asked: a block must not end the run.
  const stored = await identities.find(userId);
  const { id, email } = stored ?? { id: userId, email: "" };
  const block = blocks?.find({ user: { id, email, actor }, clientId: workload.userId, grantId: run.id });
  if (block) return refuseBlocked(block);

  const isPast = sessionExpiresAt <= request.now;
  const renewal = isPast ? await identities.refresh(userId) : undefined;
  if (renewal?.ok === false && renewal.reason === "unavailable")
    return refuse("temporarily_unavailable", "The identity provider cannot be reached", "provider unavailable");
  const user = renewal ? (renewal.ok ? renewal.user : undefined) : stored;
  if (!user) {
    await deps.runs.end(run, "the user is gone");
    return badAssertion("the user of the agent run is gone", "workload");
  }
  const routes = routesOfAudience(request.issuer, audience);
  if (!routes.some(({ policy }) => mayReachSomething(policy, { ...user, actor })))
    return badAssertion("the user or the workload is denied by policy", "workload");
  if ((await deps.upstream?.mustConnect(userId, routes)) === true)
    return refuse("interaction_required", "The user must connect the account of this server, on the page of the user");
  if (!isPast) return pass(sessionExpiresAt);
  const renewed = request.now + request.snapshot.settings.cookie.expirationSeconds;
  await deps.runs.confirmed(run, renewed);
  return pass(renewed);
}

interface Allowed {
  readonly run: AgentRun;
  /** The user who approved it. */
  readonly userId: UserId;
  readonly audience: string;
  readonly scope: string;
  readonly sessionEnd: number;
}

async function issue(
  deps: RunDeps,
  request: RunRequest,
  attested: Attested,
  { run, userId, audience, scope, sessionEnd }: Allowed,
): Promise<StepResult<TokenAnswer>> {
  const used = await useOnce(deps.store, attested);
  if (!used.ok) return used;
  const { entry, userId: workload, hash } = attested;
  const endsAt = Math.min(latestEnd(request, attested), run.value.endsAt, sessionEnd);
  deps.log.info(
    { run: run.id, user: userId, workload, audience, issuer: entry.name, assertion: hash },
    "agent run got an access token",
  );
  const accessToken = deps.session.externalTokens.mint({
    kind: "grant",
    userId,
    runId: run.id,
    // Look-ups by client ID find the workload.
    clientId: workload,
    ...toolScopesIn(scope),
    ...boundTo(request),
    audience,
    expiresAt: endsAt,
  });
  return pass({ accessToken, accessExpiresAt: endsAt, audience, scope, isExchanged: true, ...boundTo(request) });
}
