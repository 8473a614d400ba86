/**
 * `POST /.gateway/backchannel_logout`: a provider has signed a user out (OpenID Connect Back-Channel Logout 1.0).
 *
 * Untrusted input: the form, until its token is verified. Promises: 200 means that all of it is revoked in the store,
 * and so everywhere within 2 s. Unknown users and sessions also get 200. Any other response revokes nothing and has the
 * same text for all causes. If the cause is ours the status is 503, so that the provider retries.
 */
import type { Snapshot } from "../../config/snapshot.ts";
import { readForm } from "../../http/body.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondBytes, respondJson } from "../../http/respond.ts";
import { epochSeconds } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import { findSite } from "../sites.ts";
import { BUSY, respondNotNow, respondNotThere } from "./answers.ts";
import { endByLogout, type EndDeps } from "./end-access.ts";
import { checkLogout } from "./logout-claims.ts";
import { once } from "./once.ts";
import { logoutIssuers, verifyStatement, type StatementDeps } from "./statement.ts";
import { clientIdsAt, type Providers } from "../../features/sign-in/providers.ts";
import type { TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";

export const BACK_CHANNEL_PATH = "/.gateway/backchannel_logout";
const MAX_FORM_BYTES = 32_768;

export interface LogoutDeps extends StatementDeps, EndDeps {
  readonly log: Log;
}

export async function handleBackChannelLogout(deps: LogoutDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const { settings } = snapshot;
  const site = findSite(snapshot, exchange.host);
  if (site?.authenticates !== true || logoutIssuers(settings).length === 0) return respondNotThere(exchange);
  const refuse = (detail: string, issuer?: string): void => {
    deps.log.warn({ request: exchange.id, issuer, reason: detail }, "back-channel logout rejected");
    // "If the logout failed … MUST respond with 400", with an optional JSON body as in RFC 6749 §5.2 (OpenID
    // Connect Back-Channel Logout 1.0 §2.8).
    respondJson(exchange, 400, { error: "invalid_request", error_description: "Invalid logout token" });
  };

  const form = await readForm(exchange, MAX_FORM_BYTES);
  const token = form.ok ? form.values.get("logout_token") : undefined;
  if (!form.ok || token === undefined) return refuse(form.ok ? "logout_token is missing" : `form: ${form.reason}`);

  const now = epochSeconds(deps.clock);
  const verified = await verifyStatement(
    deps,
    { exchange, settings, token },
    {
      kind: "back-channel",
      isType: isLogoutType,
      checkClaims: (claims, entry) => checkLogout(claims, { entry, audiences: logoutAudiences(entry, settings), now }),
    },
  );
  if (!verified.ok) {
    if (verified.reason === "bad") return refuse(verified.detail, verified.issuer);
    return respondNotNow(deps.log, exchange, verified);
  }

  const { entry, value: statement } = verified;
  const { issuer, name, logoutEndsGrants: endsGrants } = entry;
  const { state } = await once(deps.store, { kind: "back-channel", issuer, statement }, async (hash) => {
    const ended = await endByLogout(deps, { ...statement, issuer, endsGrants });
    deps.log.info({ request: exchange.id, issuer: name, logout: hash, ...ended }, "user signed out by issuer");
  });
  if (state === "used") return refuse("jti used before", name);
  if (state === "busy") return respondNotNow(deps.log, exchange, { issuer: name, detail: BUSY });
  respondBytes(exchange, 200, ["cache-control", "no-store", "content-length", "0"]);
}

/**
 * "logout+jwt" is recommended, but older providers send "JWT" or nothing (OpenID Connect Back-Channel Logout 1.0 §2.4).
 * An issuer's other kinds of tokens have their own types.
 */
function isLogoutType(type: unknown): boolean {
  if (type === undefined) return true;
  return typeof type === "string" && /^(?:(?:application\/)?logout\+jwt|jwt)$/i.test(type);
}

/** Accepted audiences of an issuer's logout tokens. */
export function logoutAudiences(entry: TrustedIssuer, settings: Providers): ReadonlySet<string> {
  return new Set([...clientIdsAt(settings, entry), ...entry.logoutAudiences]);
}
