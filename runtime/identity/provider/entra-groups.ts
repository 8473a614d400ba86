/**
 * Groups of one user from Microsoft Graph: `getMemberObjects`, with our own client credentials.
 *
 * Trusted input: the settings, which alone determine URLs and tenant. Untrusted: the responses, and the claims, of
 * which only two ids are used. Promises: bounded time, few concurrent requests, and none shortly after a rejection. The
 * result is complete or an error. Errors contain neither secrets nor tokens.
 *
 * @see learn.microsoft.com/graph/api/directoryobject-getmemberobjects, and for the token
 *   learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */
import type { EntraSettings } from "../../features/sign-in/compiled.ts";
import { isEntraId } from "../../features/sign-in/settings.ts";
import type { OperatorFetch } from "../../http/fetch/operator-fetch.ts";
import { epochSeconds, steadyClock, type Clock } from "../../shared/clock.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";
import { oauthErrorText, type OAuthErrorBody } from "../../shared/http/oauth-error.ts";
import type { AskGroups } from "./groups-resolver.ts";

export interface EntraGroupsDeps {
  readonly fetch: OperatorFetch;
  readonly clock: Clock;
  /** Timeout for a token, and for one user's groups. Default: 5 s, since a sign-in waits for it. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5000;
/** Concurrent requests. Others fail immediately, and their groups are unknown for a minute. */
const MAX_QUESTIONS = 64;
/** They are stored with the user and read at every decision. */
export const MAX_GROUPS = 2048;
/** A token is not used during this time before its expiry. */
const TOKEN_MARGIN_SECONDS = 60;
/** Pause after our credentials were rejected, or after a 429 without a duration. */
const PAUSE_SECONDS = 30;
const MAX_PAUSE_SECONDS = 300;

/** State per application. The key is the settings object, so a new configuration starts afresh. */
interface Application {
  token?: { readonly text: string; readonly expiresAt: number };
  asking?: Promise<string> | undefined;
  /** No request before this time. */
  pausedUntilMs: number;
}

export function createEntraGroups(deps: EntraGroupsDeps): AskGroups {
  const { timeoutMs = TIMEOUT_MS } = deps;
  const clock = steadyClock(deps.clock);
  const applications = new WeakMap<EntraSettings, Application>();
  let questions = 0;

  const applicationOf = (settings: EntraSettings): Application => {
    let application = applications.get(settings);
    if (!application) {
      application = { pausedUntilMs: 0 };
      applications.set(settings, application);
    }
    return application;
  };

  const pause = (settings: EntraSettings, seconds: number): void => {
    applicationOf(settings).pausedUntilMs = clock.now() + seconds * 1000;
  };

  const send = async (
    what: string,
    settings: EntraSettings,
    url: string,
    init: RequestInit,
  ): Promise<{ readonly status: number; readonly answer: Readonly<Record<string, unknown>> }> => {
    if (clock.now() < applicationOf(settings).pausedUntilMs)
      throw unavailable(`${what}: rejected a moment ago, not retried yet`);
    let response: Response;
    try {
      response = await deps.fetch(url, { method: "POST", ...init });
    } catch (error) {
      throw unavailable(`${what}: ${errorText(error)}`);
    }
    const { status, headers } = response;
    if (status === 429 || status === 503) pause(settings, retryAfter(headers.get("retry-after")));
    const answer: unknown = await response.json().catch(() => undefined);
    return { status, answer: isRecord(answer) ? answer : {} };
  };

  /** @see RFC 6749 §4.4 */
  const askToken = async (settings: EntraSettings, signal: AbortSignal): Promise<string> => {
    const application = applicationOf(settings);
    const what = "request a token";
    const { status, answer } = await send(what, settings, `${settings.loginUrl}/${settings.tenant}/oauth2/v2.0/token`, {
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        client_id: settings.clientId,
        scope: `${settings.graphUrl}/.default`,
        client_secret: settings.clientSecret,
        grant_type: "client_credentials",
      }).toString(),
      signal,
    });
    if (status !== 200) {
      // Repeating the request cannot help: the credentials are wrong.
      if (status === 400 || status === 401) pause(settings, PAUSE_SECONDS);
      const setting = `check client_id, client_secret and tenant of idp_groups_resolver`;
      const isOurs = status >= 400 && status < 500 && status !== 429;
      throw unavailable(`${what}: ${refusalText(status, answer, settings)}${isOurs ? `; ${setting}` : ""}`);
    }
    const { access_token: text, token_type: type, expires_in: expiresIn } = answer;
    const isBearer = typeof type === "string" && type.toLowerCase() === "bearer";
    if (typeof text !== "string" || !TOKEN.test(text) || !isBearer || typeof expiresIn !== "number")
      throw unavailable(`${what}: the response has no bearer token with an expiry`);
    application.token = { text, expiresAt: epochSeconds(clock) + expiresIn - TOKEN_MARGIN_SECONDS };
    return text;
  };

  /** One request for all callers, with its own timeout: the first caller may give up earlier. */
  const tokenOf = (settings: EntraSettings): Promise<string> => {
    const application = applicationOf(settings);
    const { token } = application;
    if (token && epochSeconds(clock) < token.expiresAt) return Promise.resolve(token.text);
    application.asking ??= askToken(settings, AbortSignal.timeout(timeoutMs)).finally(
      () => (application.asking = undefined),
    );
    return application.asking;
  };

  const ask = async (settings: EntraSettings, userObjectId: string): Promise<readonly string[]> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (const isLast of [false, true]) {
      const token = await tokenOf(settings);
      if (deadline.aborted) throw unavailable(`request a token: no answer within ${timeoutMs} ms`);
      const what = "request the groups";
      const url = `${settings.graphUrl}/v1.0/users/${userObjectId}/getMemberObjects`;
      const { status, answer } = await send(what, settings, url, {
        headers: { accept: "application/json", "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ securityEnabledOnly: settings.securityEnabledOnly }),
        signal: deadline,
      });
      if (status === 200) return readGroupIds(answer);
      const application = applicationOf(settings);
      // The token may be revoked. A concurrent request may have fetched a new one already.
      if (status === 401 && application.token?.text === token) delete application.token;
      if (status !== 401 || isLast) {
        const error = isRecord(answer["error"]) ? answer["error"] : {};
        const said = { error: error["code"], error_description: error["message"] };
        const setting =
          status === 403
            ? "; grant the application User.Read.All and GroupMember.Read.All with an administrator's consent"
            : "";
        throw unavailable(`${what}: ${refusalText(status, said, settings, token)}${setting}`);
      }
    }
    throw new TypeError("unreachable: the last attempt answers or throws");
  };

  return async (settings, { tid, oid }) => {
    const userObjectId = readObjectId(settings, tid, oid);
    if (questions >= MAX_QUESTIONS) throw unavailable(`request the groups: ${MAX_QUESTIONS} lookups are in progress`);
    questions += 1;
    try {
      return await ask(settings, userObjectId);
    } finally {
      questions -= 1;
    }
  };
}

/** Allowed characters in a header (RFC 6750 §2.1). */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

function readObjectId({ tenant }: EntraSettings, tid: unknown, oid: unknown): string {
  // The request goes to the configured tenant, which knows only its own users.
  if (typeof tid !== "string" || tid.toLowerCase() !== tenant)
    throw unavailable('request the groups: the claim "tid" does not name the tenant of "idp_groups_resolver"');
  if (typeof oid !== "string" || !isEntraId(oid))
    throw unavailable('request the groups: the claim "oid" is not a GUID');
  return oid.toLowerCase();
}

/** Rejects partial lists: a missing group could bypass a deny rule. */
function readGroupIds(answer: Readonly<Record<string, unknown>>): readonly string[] {
  const { value } = answer;
  const ids = Array.isArray(value) ? (value as readonly unknown[]) : undefined;
  if (!ids?.every((id): id is string => typeof id === "string" && isEntraId(id)))
    throw unavailable("read the groups: the response is not a list of IDs");
  if (answer["@odata.nextLink"] !== undefined) throw unavailable("read the groups: the response is incomplete");
  if (ids.length > MAX_GROUPS) throw unavailable(`read the groups: there are more than ${MAX_GROUPS}`);
  return ids;
}

/** @param said OAuth error with its description; not every response has one */
function refusalText(status: number, said: OAuthErrorBody, { clientSecret }: EntraSettings, token?: string): string {
  const text = typeof said.error === "string" ? ` ${oauthErrorText(said, [clientSecret, token])}` : "";
  return `the answer is ${status}${text}`;
}

/** @returns seconds */
function retryAfter(header: string | null): number {
  const seconds = /^[0-9]{1,6}$/.test(header ?? "") ? Number(header) : PAUSE_SECONDS;
  return Math.min(Math.max(seconds, 1), MAX_PAUSE_SECONDS);
}

function unavailable(text: string): GatewayError {
  return new GatewayError("groups.unavailable", `Cannot ${text}`);
}
