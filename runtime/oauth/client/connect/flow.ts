/**
 * One authorization code flow at an upstream's authorization server, started and completed by the same user and browser
 * session (OAuth 2.1 §4.1, RFC 7636, RFC 8707, RFC 9207).
 *
 * Untrusted input: everything from the browser, and every response of the server. Promises: each state works once, in
 * its own session. The issuer is checked before a code is sent. Tokens are stored before the browser continues.
 */
import * as oauth from "oauth4webapi";

import type { CompiledRoute, LiveSettings } from "../../../config/compiled.ts";
import { findRoute, type Snapshot } from "../../../config/snapshot.ts";
import { randomSecret } from "../../../shared/keys.ts";
import { epochSeconds } from "../../../shared/clock.ts";
import type { Principal } from "../../../identity/principal.ts";
import { createRateLimit } from "../../../shared/rate-limit.ts";
import type { ClientChooser, ClientChoiceDeps } from "./client-choice.ts";
import type { DiscoverDeps, DiscoverFailure } from "../discovery/discover.ts";
import { type AuthorizationServer, configuredServer, referenceOf } from "../discovery/metadata.ts";
import type { Needs } from "../need.ts";
import { FLOW_SECONDS, flowContext, flowKey, type FlowRecord, type ConnectFlow } from "../connection-records.ts";
import { chooseScopes, joinScopes, scopeSet } from "../scopes.ts";
import { callbackUrl, findTarget, sentResource, type UpstreamTarget } from "../target.ts";
import { isPassingError, oauthRefusalText } from "../../../shared/http/oauth-error.ts";
import { exchangeCode } from "./token-endpoint.ts";
import { UPSTREAM_SETTINGS } from "./upstream-settings.ts";
import type { UpstreamTokenStore } from "../tokens/token-store.ts";

export interface FlowDeps extends DiscoverDeps, Omit<ClientChoiceDeps, "clientDocumentUrl" | "issuers"> {
  readonly clients: ClientChooser;
  readonly needs: Needs;
  readonly tokenStore: UpstreamTokenStore;
  readonly isBlocked: (route: CompiledRoute) => boolean;
}

export type BeginResult =
  | { readonly ok: true; readonly url: string }
  | {
      readonly ok: false;
      readonly failure: DiscoverFailure | "no-client";
      readonly detail: string;
      /** A limit of this user, not a failure of the upstream. */
      readonly isOfUser?: true;
    };

export type CompleteFailure =
  /** Unknown state: used, expired or never issued. */
  | "unknown"
  /** Started by another user, in another browser session, or on another host. */
  | "foreign"
  /** The route is blocked. */
  | "blocked"
  /** The route was removed or changed meanwhile. */
  | "changed"
  /** `iss` is wrong or missing, possibly a mix-up attack. The response is not shown. */
  | "wrong-issuer"
  /** The user, or the server on their behalf, declined. */
  | "denied"
  /** The server returned another error, or an unusable response. */
  | "answered-error"
  | "code-refused"
  /** The server rejects the route's configured client, or our document. */
  | "client-refused"
  /** The server no longer knows our registration. The next attempt registers again. */
  | "client-forgotten"
  | "unavailable";

export type CompleteResult =
  | { readonly ok: true; readonly flow: FlowRecord; readonly target: UpstreamTarget }
  | {
      readonly ok: false;
      readonly failure: CompleteFailure;
      /** The flow, once it is known to belong to this browser. */
      readonly journey?: ConnectFlow;
      /** Error code of the server, if it sent one. */
      readonly code?: string;
      readonly detail: string;
    };

export interface Flows {
  /** @returns URL of the server for the redirect */
  begin(
    principal: Principal,
    target: UpstreamTarget,
    settings: LiveSettings,
    journey: ConnectFlow,
  ): Promise<BeginResult>;
  complete(
    principal: Principal,
    host: string,
    parameters: ReadonlyMap<string, string>,
    snapshot: Snapshot,
  ): Promise<CompleteResult>;
}

/** Enough for every server of a large host, and for "back" in the browser. */
const ABANDONED = { burst: 40, perSecond: 0.1 };

export function createFlows(deps: FlowDeps): Flows {
  const sealer = deps.keys.sealer("vault");
  /** Flows that a user started without returning. */
  const abandoned = createRateLimit(deps, ABANDONED.burst, ABANDONED.perSecond);

  return {
    async begin(principal, target, settings, journey) {
      const { route } = target;
      const userId = principal.user.id;
      const found = await findServer(deps, target, userId);
      if (!found.ok) return found;
      const { server, resource, scopes } = found;
      if (abandoned.take(userId) > 0) {
        const detail = "the user started too many connections without finishing them";
        return { ok: false, failure: "unavailable", detail, isOfUser: true };
      }
      const choice = await deps.clients.choose(target, server, settings);
      if (!choice.ok) {
        abandoned.giveBack(userId);
        return { ok: false, failure: "no-client", detail: choice.detail };
      }

      const state = randomSecret();
      const verifier = oauth.generateRandomCodeVerifier();
      const redirectUri = callbackUrl(route);
      const key = flowKey(state);
      const unsealed: FlowRecord = {
        schema: 1,
        userId,
        sessionId: principal.sid,
        host: route.host,
        routeKey: route.key,
        generation: target.generation,
        upstreamUrl: target.url,
        server: referenceOf(server),
        sendsIssuer: server.sendsIssuer,
        client: choice.client,
        resource,
        scopes,
        redirectUri,
        verifier: "",
        journey,
      };
      const flow = { ...unsealed, verifier: sealer.seal(verifier, flowContext(key, unsealed)) };
      await deps.store.put(key, flow, { ifVersion: 0, expiresAt: epochSeconds(deps.clock) + FLOW_SECONDS });

      const url = authorizationUrl(server, target, {
        response_type: "code",
        client_id: choice.client.clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        resource: sentResource(target, resource),
        scope: scopes.length > 0 ? scopes.join(" ") : undefined,
      });
      return { ok: true, url };
    },

    async complete(principal, host, parameters, snapshot) {
      // The state must be ours. It is deleted, so that it works once whatever the result.
      const state = parameters.get("state");
      const taken = state === undefined ? undefined : await deps.store.take<FlowRecord>(flowKey(state));
      if (state === undefined || !taken) return fail("unknown", "state is not known");
      const flow = taken.value;
      abandoned.giveBack(flow.userId);

      // Same user, browser and host as at the start. Otherwise an attacker could connect their own account to the user
      // (RFC 6749 §10.12).
      if (flow.userId !== principal.user.id || flow.sessionId !== principal.sid || flow.host !== host) {
        return fail("foreign", "the flow belongs to another session");
      }
      const { journey } = flow;

      // The seal covers the record: write access to the store must not determine where the code is sent.
      const verifier = sealer.open(flow.verifier, flowContext(taken.key, flow))?.toString();
      if (verifier === undefined)
        return fail("unknown", "the record of the flow was changed, or is of an earlier version");

      // The route must still have the same upstream and client.
      const route = findRoute(snapshot, flow.routeKey);
      const target = route && findTarget(route);
      if (!route || !target || target.url !== flow.upstreamUrl || target.generation !== flow.generation) {
        return fail("changed", "the route has changed", journey);
      }
      if (deps.isBlocked(route)) return fail("blocked", "the route is blocked", journey);

      // Check the issuer of the response (RFC 9207 §2.4) before using anything else in it.
      const answer = readAnswer(flow, state, parameters);
      await deps.clients.answered(flow.client);
      if (!answer.ok) return { ...fail(answer.failure, answer.detail, journey), ...answer.code };

      const result = await exchangeCode(
        deps,
        {
          server: flow.server,
          client: flow.client,
          ...(await deps.clients.credentialsOf(flow.client, route, flow.server)),
          resource: sentResource(target, flow.resource),
          upstreamUrl: flow.upstreamUrl,
          reach: target.reach,
          settings: snapshot.settings,
        },
        { code: answer.code, redirectUri: flow.redirectUri, verifier },
      );
      if (!result.ok) {
        const isForgotten = result.failure === "client-refused" && flow.client.kind === "registered";
        if (isForgotten) await deps.clients.forget(flow.client);
        const ofCode = result.failure === "refused" ? "code-refused" : result.failure;
        const code = result.code === undefined ? {} : { code: result.code };
        return { ...fail(isForgotten ? "client-forgotten" : ofCode, result.detail, journey), ...code };
      }
      // Before the browser continues: a token known only to this process could be lost.
      await deps.tokenStore.keep(flow, target, result.tokens);
      const about = { route: route.key, user: flow.userId, issuer: flow.server.issuer, scopes: flow.scopes };
      deps.log.info({ ...about }, "upstream account connected");
      return { ok: true, flow, target };
    },
  };
}

async function findServer(deps: FlowDeps, target: UpstreamTarget, userId: string): Promise<Found> {
  const known = await deps.tokenStore.find(userId, target);
  // A step-up must request the current scopes again, or they would be lost (MCP authorization, step-up).
  const held = known && known.wantedScopes.length > 0 ? joinScopes(known.scopes, known.wantedScopes) : [];
  const configured = target.oauth?.scopes ?? [];
  const endpoint = target.oauth?.endpoint;
  if (target.mode === "static" && endpoint) {
    const scopes = chooseScopes({ configured, challenged: [], ofResource: [], ofServer: [], held });
    return { ok: true, server: configuredServer(endpoint), resource: target.url, scopes };
  }
  const sent = await deps.needs.wasSent(userId, target);
  const isChallenged = sent !== undefined || target.mode === "credentials";
  const found = await deps.needs.discover(target, isChallenged ? { isChallenged } : {});
  if (!found.ok) return found;
  const { server, resource, resourceScopes, challengedScope } = found.value;
  // The scope from the user's own rejected request takes precedence over a general one.
  const challenged = scopeSet(sent?.scope ?? challengedScope);
  const scopes = chooseScopes({ configured, challenged, ofResource: resourceScopes, ofServer: server.scopes, held });
  return { ok: true, server, resource, scopes };
}

type Found =
  | {
      readonly ok: true;
      readonly server: AuthorizationServer;
      readonly resource: string;
      readonly scopes: readonly string[];
    }
  | Extract<BeginResult, { ok: false }>;

function authorizationUrl(
  server: AuthorizationServer,
  target: UpstreamTarget,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(server.authorizationEndpoint);
  // The operator's parameters first, then ours: protocol parameters cannot be overridden.
  for (const [name, value] of target.oauth?.authorizationUrlParams ?? []) url.searchParams.set(name, value);
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

type Answer =
  | { readonly ok: true; readonly code: string }
  | {
      readonly ok: false;
      readonly failure: CompleteFailure;
      readonly detail: string;
      readonly code: { readonly code?: string };
    };

function readAnswer(flow: FlowRecord, state: string, parameters: ReadonlyMap<string, string>): Answer {
  const query = new URLSearchParams([...parameters]);
  // Configured endpoints have no issuer to compare with.
  if (flow.server.issuer === undefined) query.delete("iss");
  const server: oauth.AuthorizationServer = {
    issuer: flow.server.issuer ?? new URL(flow.server.tokenEndpoint).origin,
    ...(flow.sendsIssuer ? { authorization_response_iss_parameter_supported: true } : {}),
  };
  try {
    const checked = oauth.validateAuthResponse(server, { client_id: flow.client.clientId }, query, state);
    const code = checked.get("code");
    if (code !== null && code !== "") return { ok: true, code };
    return { ok: false, failure: "answered-error", detail: "the answer has no code", code: {} };
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) {
      const code = /^[a-z_]{1,60}$/.test(error.error) ? error.error : undefined;
      const failure = code === "access_denied" ? "denied" : isPassingError(code) ? "unavailable" : "answered-error";
      const detail = `the server answered ${oauthRefusalText(error, UPSTREAM_SETTINGS)}`;
      return { ok: false, failure, detail, code: code === undefined ? {} : { code } };
    }
    return { ok: false, failure: "wrong-issuer", detail: "iss is missing or of another issuer", code: {} };
  }
}

function fail(failure: CompleteFailure, detail: string, journey?: ConnectFlow): Extract<CompleteResult, { ok: false }> {
  return { ok: false, failure, detail, ...(journey === undefined ? {} : { journey }) };
}
