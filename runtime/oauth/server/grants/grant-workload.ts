/**
 * `grant_type=…:jwt-bearer` with the token of a platform: a job, pod or machine gets an access token for one MCP server,
 * without a stored secret and without being registered.
 *
 * Untrusted input: the assertion, until its issuer's signature is checked. Promises: who gets what is said by the rules of the
 * configuration alone; the access token ends with the assertion or before, and with the issuer, its use or the rule; no
 * refresh token; what the token may do is decided by policy, like a person's. Nothing of the assertion is stored or logged
 * but its subject.
 *
 * @see draft MCP workload identity federation, RFC 7523 §2.1
 */
import type { TrustedIssuer } from "../../../features/sign-in/trusted-issuers.ts";
import type { WorkloadRule } from "../../../features/sign-in/workload-rules.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { asserter } from "../../../identity/users/asserted.ts";
import type { IssuerKeys } from "../../../issuers/issuer-keys.ts";
import { readUnverified } from "../../../issuers/read-unverified.ts";
import { verifyWorkload, type Workload, type WorkloadTokenPlace } from "../../../issuers/workload-token.ts";
import type { Parameters } from "../../../shared/http/query.ts";
import { randomHandle } from "../../../shared/keys.ts";
import { networkOf } from "../../../shared/rate-limit.ts";
import { pass, refuse, refuseBlocked, tooMany, type StepResult } from "../answer.ts";
import type { Client } from "../clients/client.ts";
import { findServer, routesOfAudience, workloadIssuers, type Issuer } from "../find-issuer.ts";
import { storeGrant, type GrantRecord, workloadAssertionKey } from "../grant-records.ts";
import { TOKEN_PATH } from "../metadata.ts";
import { badAssertion, chooseScope } from "./id-jag-claims.ts";
import { DEFAULT_SCOPE, scopesSupported, toolScopesIn } from "../scope.ts";
import type { TokenAnswer } from "./refresh-token.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

type WorkloadDeps = TokenDeps & { readonly issuerKeys: IssuerKeys };

/** A workload is known by its assertion: a client may be named beside it. */
export type WorkloadRequest = Omit<TokenRequest, "client"> & { readonly client: Client | undefined };

/** What a request may prove a client with. */
const CREDENTIALS = ["client_secret", "client_assertion", "client_assertion_type"];

/** Whether no client stands beside the assertion; one that does must prove itself, as everywhere. */
export async function needsNoClient(
  { issuerKeys }: Pick<TokenDeps, "issuerKeys">,
  exchange: Exchange,
  form: Parameters,
  entries: readonly TrustedIssuer[],
): Promise<boolean> {
  if (exchange.headerValues("authorization").length > 0 || CREDENTIALS.some((name) => form.has(name))) return false;
  if (!form.has("client_id")) return true;
  const issuer = readUnverified(form.get("assertion") ?? "")?.issuer;
  const isIgnored = async (entry: TrustedIssuer): Promise<boolean> =>
    entry.ignoresClientId && issuer !== undefined && (await issuerKeys?.issuerOf(entry)) === issuer;
  return (await Promise.all(entries.map(isIgnored))).includes(true);
}

export async function exchangeWorkload(deps: WorkloadDeps, request: WorkloadRequest): Promise<StepResult<TokenAnswer>> {
  const { form, issuer } = request;
  const assertion = form.get("assertion");
  if (assertion === undefined) return refuse("invalid_request", "assertion is missing");
  // Never a default: the least that is asked for is a server's name.
  const resource = form.get("resource");
  if (resource === undefined) return refuse("invalid_request", "resource is missing");

  // Verifying costs more than sending: what is not good is counted against the peer.
  const sender = `${networkOf(request.peer)} workload`;
  const waitSeconds = deps.failedProofs.take(sender);
  if (waitSeconds > 0) return tooMany(waitSeconds, "too many bad assertions of one peer");
  const verified = await verifyWorkload(deps.issuerKeys, placeOf(request), assertion);
  if (verified.ok || verified.reason !== "bad") deps.failedProofs.giveBack(sender);
  if (!verified.ok)
    return verified.reason === "bad"
      ? badAssertion(verified.detail, "workload")
      : refuse("temporarily_unavailable", "Please try again later", `workload: ${verified.detail}`);

  // What it may reach is asked after who it is: nobody else learns what there is.
  const audience = findServer(issuer, resource);
  const rules = verified.workload.rules.filter((rule) => opens(rule, issuer, audience));
  if (audience === undefined || rules.length === 0)
    return refuse("invalid_target", "resource must be an MCP server that a rule opens", "workload: no rule opens it");
  // Its platform says nothing of scopes: the rule that lets it in is the ceiling.
  const supported = scopesSupported(routesOfAudience(issuer, audience));
  const scope = chooseScope({ scope: supported.join(" ") }, form.get("scope") ?? DEFAULT_SCOPE, supported);
  if (!scope.ok) return scope;
  return createGrant(deps, request, { ...verified.workload, rules, audience, scope: scope.value });
}

function placeOf({ snapshot, issuer, now }: WorkloadRequest): WorkloadTokenPlace {
  const { origin } = issuer;
  return { entries: workloadIssuers(snapshot, issuer), audiences: [origin, `${origin}/`, origin + TOKEN_PATH], now };
}

function opens({ resources }: WorkloadRule, issuer: Issuer, audience: string | undefined): boolean {
  return audience !== undefined && resources.some((resource) => findServer(issuer, resource) === audience);
}

interface Allowed extends Workload {
  readonly audience: string;
  readonly scope: string;
}

async function createGrant(
  deps: WorkloadDeps,
  request: WorkloadRequest,
  allowed: Allowed,
): Promise<StepResult<TokenAnswer>> {
  const { client, issuer, now, snapshot } = request;
  const { entry, userId, rules, audience, scope, hash } = allowed;

  // Nothing is consumed where a block stands in the way.
  const grantId = randomHandle(16);
  const block = deps.session.blocks?.find({ user: { id: userId, email: "" }, clientId: client?.id, grantId });
  if (block) return refuseBlocked(block);

  // It must be new, where its platform makes one for each use.
  if (!entry.allowsReplay) {
    const noted = await deps.store.put(
      workloadAssertionKey(hash),
      { schema: 1 },
      { ifVersion: 0, expiresAt: allowed.expiresAt + 1 },
    );
    if (!noted.ok) return badAssertion("used before", "workload");
  }

  const longest = snapshot.settings.lifetimes.accessToken;
  const endsAt = Math.min(now + Math.min(longest, entry.maxTokenLifetimeSeconds ?? longest), allowed.expiresAt);
  const grant: GrantRecord = {
    schema: 1,
    issuer: issuer.origin,
    // Without a client it is its own: what is looked for by client is found by its id.
    clientId: client?.id ?? userId,
    clientName: client?.metadata.client_name ?? client?.id ?? entry.name,
    userId,
    audience,
    scope,
    createdAt: now,
    sessionExpiresAt: endsAt,
    endsAt,
    assertedBy: { ...asserter(entry, issuer.origin, rules), jtiHash: hash },
  };
  await storeGrant(deps.store, grantId, grant, endsAt);
  deps.log.info(
    {
      grant: grantId,
      client: client?.id,
      user: userId,
      audience,
      issuer: entry.name,
      rules: rules.map(({ name }) => name),
      assertion: hash,
    },
    "grant created from workload token",
  );
  const accessToken = deps.session.externalTokens.mint({
    kind: "workload",
    userId,
    grantId,
    ...(client === undefined ? {} : { clientId: client.id }),
    ...toolScopesIn(scope),
    audience,
    expiresAt: endsAt,
  });
  return pass({ accessToken, accessExpiresAt: endsAt, audience, scope });
}
