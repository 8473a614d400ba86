/**
 * `/publish-tokens`: short-lived publish tokens, for pipeline runs that must not have the owner's own.
 *
 * `POST /publish-tokens` {"owner", "lifetime"} issues one, `POST /publish-tokens/<id>` renews it, `DELETE` revokes it.
 * Untrusted input: bodies, and the caller. The operator can issue for any owner, an owner for itself, and an issued
 * token for none, so that none outlives its run.
 */
import type { AdminAction } from "../audit/action-record.ts";
import { isRecord } from "../shared/is-record.ts";
import { isOwner, matchesOwner, OWNER_EXPECTED } from "../features/process/owners.ts";
import { DEFAULT_TOKEN_LIFETIME, parseTokenLifetime } from "../settings/values.ts";
import { GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { json, type AdminEndpoint, type AdminRequest, type AdminReply } from "./answer.ts";
import { MOST_MINTED, type MintedToken, type MintedTokens } from "./minted-tokens.ts";
import { callerOf, outsideScope } from "./publish-scope.ts";

const TOKENS = "/publish-tokens";
const MAX_BODY_BYTES = 4096;

/** @param record for the audit; absent: not recorded */
export function publishTokenEndpoint(
  tokens: MintedTokens,
  log: Log,
  record?: (action: AdminAction) => void | Promise<void>,
): AdminEndpoint {
  return {
    anyHost: true,
    forOwners: true,
    forWorkloads: true,
    handles: (path) => path === TOKENS || path.startsWith(`${TOKENS}/`),
    async answer(request) {
      const { token, rights = [], scope, path, method } = request;
      if (token === undefined && rights.length === 0)
        return json(403, { error: "token", message: "a short-lived token cannot issue tokens" });
      const isCovered = (owner: string): boolean => scope?.covers(owner) ?? true;
      try {
        if (path === TOKENS) return method === "POST" ? await mint(request) : notAllowed("POST");
        const id = path.slice(TOKENS.length + 1);
        if (method === "POST") {
          const renewed = await tokens.renew(id, isCovered);
          if (!renewed) return json(404, { error: "absent", message: "there is no such token, or it has ended" });
          log.info({ owner: renewed.owner, id }, "publish token renewed");
          const target = `publish token ${id} of ${renewed.owner}`;
          await record?.({ action: "renew", by: callerOf(request).by, target, after: endText(renewed) });
          return json(200, described(renewed));
        }
        if (method !== "DELETE") return notAllowed("DELETE, POST");
        const ended = await tokens.end(id, isCovered);
        if (ended) {
          log.info({ id }, "publish token revoked");
          const target = `publish token ${id}`;
          await record?.({ action: "revoke", by: callerOf(request).by, target, before: "good", after: null });
        }
        return json(200, { ended });
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        return json(503, { error: error.code, message: "the gateway cannot do this at the moment, try again" }, RETRY);
      }
    },
  };

  async function mint(request: AdminRequest): Promise<AdminReply> {
    const mintRequest = readMintRequest(await request.readBody(MAX_BODY_BYTES));
    if (typeof mintRequest === "string") return json(400, { error: "body", message: mintRequest });
    if (request.scope && !request.scope.covers(mintRequest.owner)) return outsideScope(request.scope);
    const right = request.rights?.find(({ entry }) => matchesOwner(entry, mintRequest.owner));
    const by = request.token ?? right?.by;
    if (by === undefined) return json(403, { error: "owner", message: "this token is for other owners" });
    const minted = await tokens.mint({ ...mintRequest, by });
    if (!minted) {
      const message = `${MOST_MINTED} tokens issued with this token are active: delete unused tokens`;
      return json(429, { error: "too-many", message });
    }
    log.info({ owner: minted.owner, id: minted.id, seconds: mintRequest.lifetimeSeconds }, "publish token issued");
    const target = `publish token ${minted.id} of ${minted.owner}`;
    await record?.({ action: "create", by: callerOf(request).by, target, before: null, after: endText(minted) });
    return json(201, { token: minted.token, ...described(minted) });
  }
}

function endText({ expiresAt }: MintedToken): string {
  return `valid until ${new Date(expiresAt * 1000).toISOString()}`;
}

const RETRY = { "retry-after": "1" };

function described({ id, owner, expiresAt }: MintedToken): object {
  return { id, owner, expires_at: expiresAt };
}

/** @returns the problem, as a sentence without its end, when the body is invalid */
function readMintRequest(
  body: Buffer | undefined,
): { readonly owner: string; readonly lifetimeSeconds: number } | string {
  const expected = `the body must be JSON such as {"owner": "team", "lifetime": "${DEFAULT_TOKEN_LIFETIME}"}`;
  let value: unknown;
  try {
    value = JSON.parse(body?.toString("utf8") ?? "");
  } catch {
    return expected;
  }
  if (!isRecord(value)) return expected;
  const { owner, lifetime = DEFAULT_TOKEN_LIFETIME, ...rest } = value;
  if (Object.keys(rest).length > 0 || typeof owner !== "string" || typeof lifetime !== "string") return expected;
  if (!isOwner(owner)) return `"owner" ${OWNER_EXPECTED}`;
  const read = parseTokenLifetime(lifetime);
  return read.ok ? { owner, lifetimeSeconds: read.value } : `"lifetime" ${read.problem}`;
}

function notAllowed(allow: string): AdminReply {
  return json(405, { error: "method" }, { allow });
}
