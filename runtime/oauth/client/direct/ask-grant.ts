/**
 * Requests a token that needs no user connection: by an ID-JAG for a user, by a token of the gateway's platform, or
 * with its own client credentials.
 *
 * Untrusted input: every response. Promises: a user's ID token goes only to the identity provider. An assertion goes
 * only to the authorization server of its audience, which is the issuer of the route's client. After a rejection there
 * is at most one more attempt, with a fresh ID-JAG.
 */
import { decodeJwt } from "jose";

import type { Snapshots } from "../../../config/snapshot.ts";
import type { DirectGrant } from "../../../features/mcp/compiled.ts";
import type { IdJags } from "../../../identity/interfaces.ts";
import type { TokenRefresh } from "../../../shared/clock.ts";
import type { ClientChooser } from "../connect/client-choice.ts";
import {
  exchangeDirect,
  type EndpointContext,
  type TokenEndpointDeps,
  type TokenResult,
  type TokenSet,
} from "../connect/token-endpoint.ts";
import type { ClientReference, ServerReference } from "../connection-records.ts";
import { isSameIssuer, referenceOf } from "../discovery/metadata.ts";
import { canConnect, currentRoute, findTarget, sentResource, type UpstreamTarget } from "../target.ts";
import type { Refused } from "../tokens/token-records.ts";
import { createAccessFinder, type FindAccessDeps } from "./find-access.ts";

export interface AskGrantDeps extends FindAccessDeps, TokenEndpointDeps {
  readonly snapshots: Snapshots;
  readonly clients: ClientChooser;
  readonly idJags: IdJags;
  /** Called after each request. */
  readonly onRefresh?: ((refresh: TokenRefresh) => void) | undefined;
}

export type Granted =
  | {
      readonly ok: true;
      readonly tokens: TokenSet;
      readonly server: ServerReference;
      readonly client: ClientReference | undefined;
      readonly resource: string;
    }
  /** `detail` is for the log. */
  | { readonly ok: false; readonly why: Refused | "unavailable"; readonly detail: string };

/** @param userId user of an ID-JAG; unused for other grants */
export type AskGrant = (userId: string, target: UpstreamTarget, direct: DirectGrant) => Promise<Granted>;

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const CLIENT_CREDENTIALS = "client_credentials";

export function createAskGrant(deps: AskGrantDeps): AskGrant {
  const access = createAccessFinder(deps);

  /** Includes the current credentials from the active configuration. */
  const askingOf = async (
    target: UpstreamTarget,
    server: ServerReference,
    client: ClientReference | undefined,
    resource: string,
  ): Promise<EndpointContext> => ({
    server,
    client,
    ...(await deps.clients.credentialsOf(client, currentRoute(deps.snapshots, target), server)),
    resource: sentResource(target, resource),
    upstreamUrl: target.url,
    reach: target.reach,
    settings: deps.snapshots.current().settings,
  });

  const ask: AskGrant = async (userId, target, direct) => {
    const { settings } = deps.snapshots.current();
    if (!canConnect(target, settings)) {
      return refuse("misconfigured", `mcp_allowed_as_metadata_domains does not list "${target.hostname}"`);
    }
    const grantType = direct.kind === "client_credentials" ? CLIENT_CREDENTIALS : JWT_BEARER;
    const found = await access.find(target, grantType);
    if (!found.ok) return refuse(found.why, found.detail);
    const { resource } = found;
    const server = referenceOf(found.server);
    const choice =
      target.oauth?.clientId === undefined ? undefined : await deps.clients.choose(target, found.server, settings);
    if (choice?.ok === false) return refuse("misconfigured", choice.detail);
    const client = choice?.client;
    const scope = (target.oauth?.scopes ?? []).join(" ");
    const present = async (parameters: Readonly<Record<string, string>>): Promise<TokenResult> => {
      const asking = await askingOf(target, server, client, resource);
      return exchangeDirect(deps, asking, grantType, { ...parameters, ...(scope === "" ? {} : { scope }) });
    };

    let result: TokenResult;
    switch (direct.kind) {
      case "client_credentials":
        result = await present({});
        break;
      case "workload": {
        const assertion = currentAssertion(deps.snapshots, target) ?? direct.assertion;
        if (!isFor(assertion, server)) {
          return refuse("misconfigured", `the assertion is not for ${JSON.stringify(server.issuer)}`);
        }
        result = await present({ assertion });
        break;
      }
      case "id_jag": {
        // From the server's own metadata, read at this very URL: no other server gets the assertion.
        const audience = server.issuer ?? "";
        const request = { audience, resource, scopes: direct.scopes, clientId: client?.clientId ?? "" };
        const presentFresh = async (): Promise<TokenResult | Extract<Granted, { ok: false }>> => {
          const answer = await deps.idJags.request(userId, request);
          return answer.ok ? present({ assertion: answer.idJag }) : refuse(answer.reason, answer.detail);
        };
        let presented = await presentFresh();
        // Each ID-JAG works once, and a request with a lost response may have used it.
        if (isInvalidGrant(presented)) presented = await presentFresh();
        if ("why" in presented) return presented;
        if (isInvalidGrant(presented))
          return refuse("denied", `the authorization server does not accept an ID-JAG: ${presented.detail}`);
        result = presented;
        break;
      }
      default:
        return direct satisfies never;
    }
    if (result.ok) return { ok: true, tokens: result.tokens, server, client, resource };
    if (result.failure === "unavailable") return refuse("unavailable", result.detail);
    access.forget(target);
    return refuse("misconfigured", `the authorization server ${result.detail}`);
  };

  return async (userId, target, direct) => {
    const startedMs = performance.now();
    const granted = await ask(userId, target, direct);
    deps.onRefresh?.({
      of: "upstream",
      route: target.route.key,
      result: granted.ok ? "ok" : granted.why === "denied" || granted.why === "sign-in" ? "refused" : "unavailable",
      tookMs: performance.now() - startedMs,
    });
    return granted;
  };
}

/**
 * Returns true if a platform token names this server as its audience (RFC 7523 §3). For configured endpoints no issuer
 * is known, and the operator has chosen both.
 */
function isFor(assertion: string, { issuer, tokenEndpoint }: ServerReference): boolean {
  if (issuer === undefined) return true;
  try {
    const { aud = [] } = decodeJwt(assertion);
    return [aud].flat().some((each) => each === tokenEndpoint || isSameIssuer(each, issuer));
  } catch {
    return false;
  }
}

/** Platforms renew their token every few minutes. */
function currentAssertion(snapshots: Snapshots, target: UpstreamTarget): string | undefined {
  const direct = findTarget(currentRoute(snapshots, target))?.direct;
  return direct?.kind === "workload" ? direct.assertion : undefined;
}

function isInvalidGrant(
  result: TokenResult | Extract<Granted, { ok: false }>,
): result is Extract<TokenResult, { ok: false }> {
  return "failure" in result && result.failure === "refused" && result.code === "invalid_grant";
}

function refuse(why: Refused | "unavailable", detail: string): Extract<Granted, { ok: false }> {
  return { ok: false, why, detail };
}
