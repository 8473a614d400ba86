/**
 * `grant_type=…:jwt-bearer` with a platform token: a job, pod or machine gets an access token for one MCP server,
 * without a stored secret or a registration.
 *
 * Untrusted input: the assertion, until its issuer's signature is verified. Promises: only the configured rules grant
 * access. The access token ends at the latest with the assertion, and with the issuer, its use or the rule. There is no
 * refresh token. Policy limits the token like a user's. Only the assertion's subject is stored or logged.
 *
 * @see draft MCP workload identity federation, RFC 7523 §2.1
 */
import type { TrustedIssuer } from "../../../features/sign-in/trusted-issuers.ts";
import type { WorkloadRule } from "../../../features/sign-in/workload-rules.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { asserter } from "../../../identity/users/asserted.ts";
import type { IssuerKeys } from "../../../issuers/issuer-keys.ts";
import { readUnverified } from "../../../issuers/read-unverified.ts";
import type { Workload } from "../../../issuers/workload-token.ts";
import type { Parameters } from "../../../shared/http/query.ts";
import { randomHandle } from "../../../shared/keys.ts";
import { pass, refuse, refuseBlocked, type StepResult } from "../answer.ts";
import type { Client } from "../clients/client.ts";
import { findServer, routesOfAudience, type Issuer } from "../find-issuer.ts";
import { storeGrant, type GrantRecord } from "../grant-records.ts";
import { TOKEN_PATH } from "../metadata.ts";
import { chooseScope } from "./id-jag-claims.ts";
import { DEFAULT_SCOPE, scopesSupported, toolScopesIn } from "../scope.ts";
import { boundTo } from "./access-token.ts";
import { latestEnd, useOnce, verifyPresented } from "./platform-token.ts";
import type { TokenAnswer } from "./refresh-token.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

type WorkloadDeps = TokenDeps & { readonly issuerKeys: IssuerKeys };

/** The assertion identifies a workload. A client is optional. */
export type WorkloadRequest = Omit<TokenRequest, "client"> & { readonly client: Client | undefined };

/** Parameters that authenticate a client. */
const CREDENTIALS = ["client_secret", "client_assertion", "client_assertion_type"];

/** Returns true if the request has only the assertion. A named client must authenticate, as everywhere. */
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
  // No default: the request must at least name a server.
  const resource = form.get("resource");
  if (resource === undefined) return refuse("invalid_request", "resource is missing");

  const verified = await verifyPresented(deps, request, [TOKEN_PATH], assertion);
  if (!verified.ok) return verified;

  // Checked only after authentication, so that others cannot find out which resources exist.
  const audience = findServer(issuer, resource);
  const rules = verified.value.rules.filter((rule) => opens(rule, issuer, audience));
  if (audience === undefined || rules.length === 0)
    return refuse("invalid_target", "resource must be an MCP server that a rule opens", "workload: no rule opens it");
  // The platform states no scopes: the rule is the limit.
  const supported = scopesSupported(routesOfAudience(issuer, audience));
  const scope = chooseScope({ scope: supported.join(" ") }, form.get("scope") ?? DEFAULT_SCOPE, supported);
  if (!scope.ok) return scope;
  return createGrant(deps, request, { ...verified.value, rules, audience, scope: scope.value });
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
  const { client, issuer, now } = request;
  const { entry, userId, rules, audience, scope, hash } = allowed;

  // A block must not consume the assertion.
  const grantId = randomHandle(16);
  const block = deps.session.blocks?.find({ user: { id: userId, email: "" }, clientId: client?.id, grantId });
  if (block) return refuseBlocked(block);

  const used = await useOnce(deps.store, allowed);
  if (!used.ok) return used;
  const endsAt = latestEnd(request, allowed);
  const grant: GrantRecord = {
    schema: 1,
    issuer: issuer.origin,
    // Without a client, the workload takes its place in look-ups by client id.
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
    ...boundTo(request),
    audience,
    expiresAt: endsAt,
  });
  return pass({ accessToken, accessExpiresAt: endsAt, audience, scope, ...boundTo(request) });
}
