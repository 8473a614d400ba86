/** Endpoints about the signed-in user: the portal, the same facts as JSON, and the keys that sign assertions. */
import { ICONS_PATH } from "../../features/catalog/icon.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import type { Exchange } from "../../http/exchange.ts";
import {
  redirect,
  respondAgainLater,
  respondBytes,
  respondError,
  respondHtml,
  respondJson,
} from "../../http/respond.ts";
import { parseQuery } from "../../shared/http/query.ts";
import type { Html } from "../../pages/html.ts";
import { pageHeaders } from "../../pages/layout.ts";
import { userPage } from "../../pages/user.ts";
import type { Clock } from "../../shared/clock.ts";
import { refuseScript } from "../csrf.ts";
import type { AssertionKey } from "../tokens/assertion-keys.ts";
import { renderJwks } from "../tokens/assertion.ts";
import type { Principal } from "../principal.ts";
import { respondBlocked } from "../refuse-blocked.ts";
import type { Authenticator, Csrf, SignIn } from "../interfaces.ts";
import { CHALLENGE, withStore } from "../sign-in/sign-in.ts";
import { SIGN_OUT_FORM } from "../sign-in/sign-out.ts";
import { findSite } from "../sites.ts";

export interface UserEndpointDeps {
  readonly authenticator: Pick<Authenticator, "cookie">;
  readonly signIn: SignIn;
  readonly csrf: Csrf;
  readonly clock: Clock;
  readonly assertionKeys: readonly AssertionKey[];
  /** In the order of the page. */
  readonly userSections: readonly UserSection[];
}

/** Section of another part on the portal. */
export type UserSection = (
  principal: Principal,
  snapshot: Snapshot,
  host: string,
  exchange: Exchange,
) => Promise<Html | undefined>;

export interface UserEndpoints {
  /** `/.gateway/`: the portal, on the authenticate host. */
  readonly handlePage: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
  /** `/.gateway/user`: the user's claims as JSON, for programs on this host. Never contains a token. */
  readonly handleJson: (exchange: Exchange) => Promise<void>;
  /** `/.well-known/gateway/jwks.json`. */
  readonly handleJwks: (exchange: Exchange) => void;
}

const MAX_SEARCH_CHARACTERS = 100;

/** Upstreams learn a new key within this; keep the old one published longer when rotating. */
const JWKS_MAX_AGE_SECONDS = 60;

export function createUserEndpoints(deps: UserEndpointDeps): UserEndpoints {
  const jwks = renderJwks(deps.assertionKeys);
  const jwksHeaders = [
    "cache-control",
    `public, max-age=${JWKS_MAX_AGE_SECONDS}`,
    "etag",
    jwks.etag,
    "content-type",
    "application/jwk-set+json",
  ];

  return {
    async handlePage(exchange, snapshot) {
      const site = findSite(snapshot, exchange.host);
      if (site && !site.authenticates) return redirect(exchange, 302, `${site.authenticateOrigin}/.gateway/`);
      if (refuseScript(exchange)) return undefined;
      const found = await deps.authenticator.cookie(exchange);
      if (found.ok) {
        const { principal } = found;
        const csrfToken = deps.csrf.token(principal, SIGN_OUT_FORM);
        const expiresAt = new Date(principal.expiresAt * 1000);
        return withStore(exchange, async () => {
          const sections = await Promise.all(
            deps.userSections.map((render) => render(principal, snapshot, exchange.host, exchange)),
          );
          respondHtml(
            exchange,
            200,
            userPage({ user: principal.user, expiresAt, csrfToken, search: searchOf(exchange), sections }),
            pageHeaders(exchange, [], undefined, `${ICONS_PATH}/`),
          );
        });
      }
      if (found.reason === "unavailable") return refuseUnavailable(exchange);
      await deps.signIn.redirect(exchange, snapshot);
    },

    async handleJson(exchange) {
      const found = await deps.authenticator.cookie(exchange);
      if (!found.ok) {
        if (found.reason === "unavailable") return refuseUnavailable(exchange);
        if (found.reason === "blocked") return respondBlocked(exchange);
        return respondError(
          exchange,
          401,
          { code: "sign-in.required", message: "No user is signed in here." },
          CHALLENGE,
        );
      }
      const { user, expiresAt } = found.principal;
      respondJson(exchange, 200, {
        user: user.id,
        email: user.email,
        name: user.name,
        ...(user.leftOut?.groups === true ? {} : { groups: user.groups }),
        claims: user.claims,
        session_expires_at: expiresAt,
      });
    },

    handleJwks(exchange) {
      if (exchange.header("if-none-match") === jwks.etag) return respondBytes(exchange, 304, jwksHeaders.slice(0, 4));
      respondBytes(exchange, 200, [...jwksHeaders, "content-length", String(Buffer.byteLength(jwks.body))], jwks.body);
    },
  };
}

function searchOf({ query }: Exchange): string {
  const parsed = parseQuery(query);
  return (parsed.ok ? (parsed.values.get("q") ?? "") : "").slice(0, MAX_SEARCH_CHARACTERS);
}

function refuseUnavailable(exchange: Exchange): void {
  respondAgainLater(exchange, { code: "user.unavailable", message: "This is not possible right now." });
}
