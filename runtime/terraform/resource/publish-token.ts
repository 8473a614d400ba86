/**
 * Ephemeral resource `gateway_publish_token`: a publish token that lasts as long as Terraform runs.
 *
 * Opening it lets the gateway issue one for one owner, renewing extends it, closing revokes it. Promises: the token is in no
 * state, no plan and no log, and the handle that Terraform stores for renewing and closing opens nothing.
 */
import { isRecord } from "../../shared/is-record.ts";
import { isOwner, OWNER_EXPECTED } from "../../features/process/owners.ts";
import { DEFAULT_TOKEN_LIFETIME, parseTokenLifetime } from "../../settings/values.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import { askAdmin, GATEWAY_URL, reasonOf, TOKEN_REF } from "../publish/ask-admin.ts";
import type { Diagnostic } from "../protocol/diagnostics.ts";
import { DATA_SOURCE_TLS } from "../publish/gateway-tls.ts";
import { addressDiagnostics } from "../publish/http-rules.ts";
import type { EphemeralResource } from "../protocol/provider.ts";
import type { SchemaBlock } from "../schema/schema-model.ts";
import type { ValueMap } from "../protocol/value.ts";

export const PUBLISH_TOKEN_TYPE = "gateway_publish_token";

export const publishTokenSchema: SchemaBlock = {
  doc: "A token that publishes for one owner while Terraform runs: minted by the gateway, renewed until the run ends, ended then. In no state and no plan. For `admin_token` of another provider block, and for write-only attributes.",
  attributes: [
    GATEWAY_URL,
    { name: "owner", type: "string", use: "required", doc: "Owner whose slice the token publishes, and no other." },
    {
      name: "lifetime",
      type: "string",
      use: "optional",
      doc: `Lifetime of the token without renewal, at most \`1h\`. Default: \`${DEFAULT_TOKEN_LIFETIME}\`.`,
    },
    TOKEN_REF,
    ...DATA_SOURCE_TLS,
    { name: "token", type: "string", use: "computed", sensitive: true, doc: "The token." },
    { name: "expires_at", type: "string", use: "computed", doc: "When it ends unless it is renewed (RFC 3339)." },
  ],
  blocks: [],
};

/** Data for renewing and closing: the configuration, and the ID of the token. */
type Handle = ValueMap & { readonly id: string; readonly owner: string };

export function createPublishToken(connection: AdminConnection): EphemeralResource {
  return {
    schema: publishTokenSchema,
    validate: (config) => [...problemsOf(config)],
    async open(config) {
      const { owner, lifetime } = config;
      const body = { owner, ...(typeof lifetime === "string" && { lifetime }) };
      const question = { method: "POST", path: "/publish-tokens", body, code: "publish-token.mint" };
      const answer = await askAdmin(config, connection, question);
      const { token, id, expires_at: expiresAt } = answer.body ?? {};
      if (answer.status !== 201 || typeof token !== "string" || typeof id !== "string" || !isSeconds(expiresAt)) {
        throw new GatewayError(
          "publish-token.mint",
          `Cannot get a token for "${typeof owner === "string" ? owner : ""}" from the gateway at "${answer.base}": it answered ${answer.status}${reasonOf(answer)}`,
        );
      }
      return {
        result: { ...config, token, expires_at: new Date(expiresAt * 1000).toISOString() },
        renewAt: renewalOf(config),
        handle: JSON.stringify({ ...config, id }),
      };
    },
    async renew(text) {
      const handle = readHandle(text);
      const question = { method: "POST", path: `/publish-tokens/${handle.id}`, code: "publish-token.renew" };
      const answer = await askAdmin(handle, connection, question);
      if (answer.status === 200) return renewalOf(handle);
      throw new GatewayError(
        "publish-token.renew",
        `Cannot renew the token for "${handle.owner}": the gateway at "${answer.base}" answered ${answer.status}${reasonOf(answer)}`,
      );
    },
    async close(text) {
      try {
        const handle = readHandle(text);
        const question = { method: "DELETE", path: `/publish-tokens/${handle.id}`, code: "publish-token.end" };
        const answer = await askAdmin(handle, connection, question);
        if (answer.status === 200) return [];
        return [notEnded(`the gateway at "${answer.base}" answered ${answer.status}${reasonOf(answer)}`)];
      } catch (error) {
        return [notEnded(errorText(error))];
      }
    },
  };
}

function* problemsOf(config: ValueMap): Iterable<Diagnostic> {
  const { owner, lifetime } = config;
  const summary = "Invalid publish token";
  const invalidToken = (attribute: string, detail: string): Diagnostic => ({
    severity: "error",
    summary,
    detail,
    path: [{ attribute }],
  });
  yield* addressDiagnostics(config, summary, "Possible problem with the publish token");
  if (typeof owner === "string" && !isOwner(owner)) yield invalidToken("owner", `"owner" ${OWNER_EXPECTED}.`);
  const read = typeof lifetime === "string" ? parseTokenLifetime(lifetime) : undefined;
  if (read?.ok === false) yield invalidToken("lifetime", `"lifetime" ${read.problem}.`);
}

/** After a quarter of the lifetime, by the local clock: the gateway's may differ, or it may be unreachable for a while. */
function renewalOf({ lifetime }: ValueMap): Date {
  const read = parseTokenLifetime(typeof lifetime === "string" ? lifetime : DEFAULT_TOKEN_LIFETIME);
  return new Date(Date.now() + (read.ok ? read.value : 0) * (1000 / 4));
}

function readHandle(text: string): Handle {
  const handle: unknown = JSON.parse(text);
  if (isRecord(handle) && typeof handle["id"] === "string" && typeof handle["owner"] === "string") {
    return handle as Handle;
  }
  throw new TypeError("Cannot read what was kept of a publish token");
}

/** The token expires automatically, so the run need not fail. */
function notEnded(reason: string): Diagnostic {
  const detail = `The token lasts until its time is over: ${reason}.`;
  return { severity: "warning", summary: "Publish token not ended", detail };
}

function isSeconds(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value);
}
