/**
 * Dynamic client registration (RFC 7591), which most MCP clients use.
 *
 * Open to all callers by nature. Therefore the body is bounded, each peer is rate limited, and unused registrations
 * expire.
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import { isPlainJson, readBody } from "../../../http/body.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { respondJson } from "../../../http/respond.ts";
import { hashSecret } from "../../../shared/keys.ts";
import type { Log } from "../../../shared/log.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import type { RateLimiter } from "../../../shared/rate-limit.ts";
import type { Store } from "../../../store/store.ts";
import { NO_STORE_HEADERS, pass, refuse, respondNotFound, respondRefusal, type StepResult } from "../answer.ts";
import { parseClientMetadata } from "./client-metadata.ts";
import { newClientId, newClientSecret } from "./client.ts";
import { findIssuer } from "../find-issuer.ts";
import {
  CLIENT_NEVER_USED_SECONDS,
  clientKey,
  clientTags,
  type ClientMetadata,
  type ClientRecord,
} from "../grant-records.ts";
import { parseForeignJson } from "../../../shared/json/foreign-json.ts";

const MAX_BODY_BYTES = 16_384;

export interface RegisterDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly rateLimit: RateLimiter;
}

export async function register(deps: RegisterDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // The host must be an issuer.
  const issuer = findIssuer(snapshot, exchange.host);
  if (!issuer) return respondNotFound(exchange);

  // The operator may allow only known clients.
  if (!snapshot.settings.mcpDynamicRegistration) return respondTurnedOff(exchange);

  // A single peer must not fill the store.
  const waitSeconds = deps.rateLimit.take(exchange.remoteAddress);
  if (waitSeconds > 0) return respondTooMany(exchange, waitSeconds);

  // The body must be one JSON object (RFC 7591 §3.1).
  const body = await readJson(exchange);
  if (!body.ok) return respondRefusal(exchange, body.refusal);

  // The metadata must contain something that we support (RFC 7591 §2).
  const metadata = parseClientMetadata(body.value, {
    allowedPrivateUris: snapshot.settings.mcpAllowedPrivateRedirectUris,
    documentDomains: snapshot.settings.mcpAllowedClientIdDomains,
    defaultAuthMethod: "client_secret_basic",
  });
  if (!metadata.ok) {
    deps.log.info(
      { request: exchange.id, issuer: issuer.origin, error: metadata.refusal.error, detail: metadata.refusal.detail },
      "client registration rejected",
    );
    return respondRefusal(exchange, metadata.refusal);
  }

  // The client gets an id, and a secret only if it can keep one (RFC 7591 §3.2.1).
  const issued = issueClient(metadata.value, issuer.origin, epochSeconds(deps.clock));
  await deps.store.put(clientKey(issued.id), issued.record, {
    ifVersion: 0,
    expiresAt: issued.record.issuedAt + CLIENT_NEVER_USED_SECONDS,
    tags: clientTags(issued.id),
  });
  deps.log.info(
    { request: exchange.id, issuer: issuer.origin, client: issued.id, name: metadata.value.client_name },
    "client registered",
  );

  // Return the registered metadata, which may be less than requested (RFC 7591 §3.2.1).
  respondJson(exchange, 201, issued.answer, [...NO_STORE_HEADERS]);
}

async function readJson(exchange: Exchange): Promise<StepResult<unknown>> {
  if (!isPlainJson(exchange)) {
    return refuse("invalid_client_metadata", "The request must be application/json");
  }
  const body = await readBody(exchange, MAX_BODY_BYTES);
  if (!body.ok && body.reason === "too-large")
    return refuse("invalid_client_metadata", `The registration is larger than ${MAX_BODY_BYTES} bytes`);
  if (!body.ok) return refuse("invalid_client_metadata", "The request body cannot be read", body.reason);
  const metadata = parseForeignJson(body.bytes);
  return metadata === undefined ? refuse("invalid_client_metadata", "The request body is not JSON") : pass(metadata);
}

function issueClient(
  metadata: ClientMetadata,
  issuer: string,
  issuedAt: number,
): { id: string; record: ClientRecord; answer: object } {
  const id = newClientId();
  const secret = metadata.token_endpoint_auth_method.startsWith("client_secret_") ? newClientSecret() : undefined;
  return {
    id,
    record: {
      schema: 1,
      issuer,
      metadata,
      issuedAt,
      ...(secret === undefined ? {} : { secretHash: hashSecret(secret) }),
    },
    answer: {
      client_id: id,
      client_id_issued_at: issuedAt,
      // 0: does not expire; required whenever a secret is issued (RFC 7591 §3.2.1).
      ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
      ...metadata,
    },
  };
}

function respondTurnedOff(exchange: Exchange): void {
  const description = "Clients cannot register themselves here, see mcp_dynamic_registration";
  respondRefusal(exchange, { error: "access_denied", description, status: 403 });
}

function respondTooMany(exchange: Exchange, waitSeconds: number): void {
  respondJson(
    exchange,
    429,
    { error: "temporarily_unavailable", error_description: "Too many registrations from this address" },
    ["retry-after", String(waitSeconds), ...NO_STORE_HEADERS],
  );
}
