/** Logout tokens of an identity provider, valid and invalid, and the gateway that gets them. */
import { randomUUID } from "node:crypto";

import { decodeJwt } from "jose";

import { BACK_CHANNEL_PATH } from "../../runtime/identity/logout/back-channel.ts";
import { LOGOUT_EVENT } from "../../runtime/identity/logout/logout-claims.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { createSend, type Answer } from "./browser.ts";
import { signAssertion, type SigningKey } from "./client-assertion.ts";
import { AUTH, BENCH_SECRET, CLIENT_SECRET, type SessionBench } from "./session-bench.ts";

type Claims = Readonly<Record<string, unknown>>;

/** The bench's client at the provider, whose ID tokens name the provider's session. */
export const CLIENT_WITH_SESSIONS = {
  client_id: "gateway",
  client_secret: CLIENT_SECRET,
  redirect_uris: [`${AUTH}/.gateway/callback`],
  backchannel_logout_uri: AUTH + BACK_CHANNEL_PATH,
};

/** Claims of a valid logout token for the client "gateway". @param claims replace them; undefined omits one */
export function logoutClaims(issuer: string, nowMs: number, claims: Claims): Record<string, unknown> {
  const now = Math.floor(nowMs / 1000);
  const all = {
    iss: issuer,
    aud: "gateway",
    iat: now,
    exp: now + 120,
    jti: randomUUID(),
    events: { [LOGOUT_EVENT]: {} },
    ...claims,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function signLogout(claims: Claims, by: SigningKey, header: Claims = {}): Promise<string> {
  const all = { kid: by.jwk.kid, typ: "logout+jwt", ...header };
  return signAssertion(claims, by, Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
}

/** @param port of the replica that gets it */
export function postForm(port: number, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return createSend({ via: port })({
    method: "POST",
    url: AUTH + BACK_CHANNEL_PATH,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body,
  });
}

export function postLogout(port: number, token: string): Promise<Answer> {
  return postForm(port, new URLSearchParams({ logout_token: token }).toString());
}

export interface KnownSession {
  readonly id: string;
  readonly tags: readonly string[];
  /** The provider's own session; undefined when its ID token named none. */
  readonly sid: unknown;
}

/** The living sessions, each with the provider's session that the sealed ID token names. */
export async function sessionsOf({ store }: SessionBench): Promise<readonly KnownSession[]> {
  const sealer = createKeys([BENCH_SECRET]).sealer("provider-tokens");
  const records = await store.store.list<{ readonly idToken: string }>("sessions");
  return records.map(({ key, value, tags }) => {
    const id = key.slice("session:".length);
    const idToken = sealer.open(value.idToken, `session ${id}`)?.toString() ?? "";
    return { id, tags, sid: decodeJwt(idToken)["sid"] };
  });
}
