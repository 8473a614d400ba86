/**
 * `POST /.gateway/global_token_revocation`: a company revokes all access of a user (Okta: Universal Logout).
 *
 * Untrusted input: header and body, until the bearer token is verified. Promises: an issuer revokes only its own users,
 * and users with an email address in domains that it may assert. 204 means that everything is revoked in the store, and
 * so everywhere within 2 s. Any other response revokes nothing. If the cause is ours the status is 503, so that the
 * sender retries.
 *
 * @see draft-parecki-oauth-global-token-revocation
 */
import type { TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { isPlainJson, readBody } from "../../http/body.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondBytes, respondJson } from "../../http/respond.ts";
import { epochSeconds } from "../../shared/clock.ts";
import { isRecord } from "../../shared/is-record.ts";
import { providerUserId, type UserId } from "../../shared/user-id.ts";
import { trustedEmail } from "../../issuers/trusted-email.ts";
import { findSite } from "../sites.ts";
import { BUSY, respondNotNow, respondNotThere } from "./answers.ts";
import type { LogoutDeps } from "./back-channel.ts";
import { endUser, findUsersByEmail, type EndUserDeps } from "./end-user.ts";
import { checkRevocation } from "./logout-claims.ts";
import { once } from "./once.ts";
import { logoutIssuers, verifyStatement } from "./statement.ts";
import { parseForeignJson } from "../../shared/json/foreign-json.ts";

export const GLOBAL_REVOCATION_PATH = "/.gateway/global_token_revocation";
const REVOCATION_TYPE = "global-token-revocation+jwt";
const MAX_BODY_BYTES = 16_384;

export type GlobalRevocationDeps = LogoutDeps & EndUserDeps;

export async function handleGlobalRevocation(
  deps: GlobalRevocationDeps,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<void> {
  const { settings } = snapshot;
  const site = findSite(snapshot, exchange.host);
  if (site?.authenticates !== true || logoutIssuers(settings).length === 0) return respondNotThere(exchange);
  const refuse = ({ status, error }: Refusal, detail: string, issuer?: string): void => {
    deps.log.warn({ request: exchange.id, issuer, status, reason: detail }, "global token revocation rejected");
    const challenge = status === 401 ? ["www-authenticate", 'Bearer error="invalid_token"'] : [];
    respondJson(exchange, status, { error }, challenge);
  };

  // The caller first, before anything in the body is checked.
  const token = readBearer(exchange);
  if (token === undefined) return refuse(BAD_BEARER, "no bearer token");
  const now = epochSeconds(deps.clock);
  const audiences = new Set([site.origin + GLOBAL_REVOCATION_PATH]);
  const verified = await verifyStatement(
    deps,
    { exchange, settings, token },
    {
      kind: "global-revocation",
      isType: (type) => type === REVOCATION_TYPE,
      checkClaims: (claims, entry) => checkRevocation(claims, { entry, audiences, now }),
    },
  );
  if (!verified.ok) {
    if (verified.reason === "bad") return refuse(BAD_BEARER, verified.detail, verified.issuer);
    return respondNotNow(deps.log, exchange, verified);
  }

  // The subject.
  const { entry, value: statement } = verified;
  const subject = readSubject(await readJson(exchange), entry);
  if (!subject.ok) return refuse(subject.refusal, subject.detail, entry.name);

  const { issuer, name } = entry;
  const outcome = await once(deps.store, { kind: "global-revocation", issuer, statement }, async (hash) => {
    const { email, userId } = subject;
    const users = email === undefined ? [userId] : await findUsersByEmail(deps, email);
    const ended: UserId[] = [];
    for (const user of users) if (await endUser(deps, user, statement.issuedAt)) ended.push(user);
    const facts = { request: exchange.id, issuer: name, revocation: hash, users: ended };
    deps.log.info(facts, "access of user ended by issuer");
    return ended;
  });
  if (outcome.state === "used") return refuse(BAD_BEARER, "jti used before", name);
  if (outcome.state === "busy") return respondNotNow(deps.log, exchange, { issuer: name, detail: BUSY });
  if (outcome.value.length === 0) return refuse(UNKNOWN_USER, "the user is unknown", name);
  respondBytes(exchange, 204, ["cache-control", "no-store"]);
}

interface Refusal {
  readonly status: 400 | 401 | 403 | 404 | 422;
  readonly error: string;
}

const BAD_BODY: Refusal = { status: 400, error: "invalid_request" };
const BAD_BEARER: Refusal = { status: 401, error: "invalid_token" };
const NOT_THEIRS: Refusal = { status: 403, error: "access_denied" };
const UNKNOWN_USER: Refusal = { status: 404, error: "user_not_found" };
const OTHER_FORMAT: Refusal = { status: 422, error: "unsupported_subject" };

function readBearer(exchange: Exchange): string | undefined {
  const [only, ...others] = exchange.headerValues("authorization");
  return others.length > 0 ? undefined : /^bearer +([^ ]+)$/i.exec(only ?? "")?.[1];
}

async function readJson(exchange: Exchange): Promise<unknown> {
  if (!isPlainJson(exchange)) return undefined;
  const body = await readBody(exchange, MAX_BODY_BYTES);
  return body.ok ? parseForeignJson(body.bytes) : undefined;
}

type Subject =
  | { readonly ok: true; readonly userId: UserId; readonly email?: undefined }
  | { readonly ok: true; readonly email: string; readonly userId?: undefined }
  | { readonly ok: false; readonly refusal: Refusal; readonly detail: string };

/** @see RFC 9493 §3.2 for the formats of subject identifiers */
function readSubject(body: unknown, entry: TrustedIssuer): Subject {
  const named = isRecord(body) ? body["sub_id"] : undefined;
  if (!isRecord(named) || typeof named["format"] !== "string") return bad(BAD_BODY, "the body has no sub_id");
  const { format, iss, sub, email } = named;
  if (format === "email") {
    if (typeof email !== "string") return bad(BAD_BODY, "sub_id has no email");
    const trusted = trustedEmail(email, entry.emailDomains);
    return trusted === "" ? bad(NOT_THEIRS, "the address is not in email_domains") : { ok: true, email: trusted };
  }
  if (format !== "iss_sub") return bad(OTHER_FORMAT, "sub_id has another format");
  if (typeof iss !== "string" || typeof sub !== "string") return bad(BAD_BODY, "sub_id has no iss and sub");
  if (iss !== entry.issuer) return bad(NOT_THEIRS, "sub_id has another issuer");
  const made = providerUserId(entry.userIssuer, sub);
  return made.ok ? { ok: true, userId: made.id } : bad(UNKNOWN_USER, `sub ${made.problem}`);
}

function bad(refusal: Refusal, detail: string): Subject {
  return { ok: false, refusal, detail };
}
