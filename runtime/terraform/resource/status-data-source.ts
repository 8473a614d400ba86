/**
 * Data source `gateway_status`: state of a running gateway, for checks after an apply and for other modules.
 *
 * Untrusted: the response, which is bounded and read member by member; missing members become null or empty.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import type { GatewayAnswer } from "../publish/ask-gateway.ts";
import { askAdmin, GATEWAY_URL, reasonOf, TOKEN_REF } from "../publish/ask-admin.ts";
import { DATA_SOURCE_TLS } from "../publish/gateway-tls.ts";
import type { DataSource } from "../protocol/provider.ts";
import type { SchemaBlock } from "../schema/schema-model.ts";
import { isUnknown, type Value, type ValueMap } from "../protocol/value.ts";

export const STATUS_TYPE = "gateway_status";

export const statusSchema: SchemaBlock = {
  doc: "Active configuration of a running gateway: digest, generation and slices.",
  attributes: [
    GATEWAY_URL,
    TOKEN_REF,
    ...DATA_SOURCE_TLS,
    { name: "digest", type: "string", use: "computed", doc: "SHA-256 of the active configuration." },
    {
      name: "generation",
      type: "number",
      use: "computed",
      doc: "Increases with each configuration that a process activates.",
    },
    { name: "store_ok", type: "bool", use: "computed", doc: "The gateway reaches its store." },
    {
      name: "problems",
      type: ["list", "string"],
      use: "computed",
      doc: "Problems that prevent the newest configuration from being active; otherwise empty.",
    },
    {
      name: "slices",
      type: ["list", ["object", { owner: "string", file: "string", ok: "bool" }]],
      use: "computed",
      doc: "Files and published slices of the gateway, active or not.",
    },
    {
      name: "seal_key",
      type: "string",
      use: "computed",
      doc: "Public key of the gateway as JSON, for `seal_key` of a bundle with write-only secrets. Null without `shared_secret`.",
    },
  ],
  blocks: [],
};

export function createStatusDataSource(connection: AdminConnection): DataSource {
  return {
    schema: statusSchema,
    validate(config) {
      const url = config["url"];
      if (typeof url !== "string" || /^https?:\/\//.test(url)) return [];
      const detail = `"url" is "${url}", must begin with http:// or https://`;
      return [{ severity: "error", summary: "Cannot use this address", detail, path: [{ attribute: "url" }] }];
    },
    async read(config) {
      const url = config["url"];
      // Terraform itself delays the read while the address is unknown.
      if (isUnknown(url) || typeof url !== "string")
        throw new GatewayError("status.url", 'Cannot ask the gateway: "url" is not known');
      const answer = await askAdmin(config, connection, { method: "GET", path: "/status", code: "status.read" });
      if (answer.status !== 200 || !answer.body) {
        throw new GatewayError(
          "status.read",
          `Cannot read the status of the gateway at "${answer.base}": it answered ${answer.status}${reasonOf(answer)}`,
        );
      }
      return { ...config, ...statusValues(answer.body, answer.said) };
    },
  };
}

function statusValues(body: Readonly<Record<string, unknown>>, said: GatewayAnswer["said"]): ValueMap {
  const textOf = (value: unknown): Value => (typeof value === "string" ? said(value) : null);
  const bundle = recordOf(body["bundle"]);
  const problems = recordOf(bundle["lastError"])["problems"];
  return {
    digest: textOf(bundle["digest"]),
    generation: typeof bundle["generation"] === "number" ? bundle["generation"] : null,
    store_ok: body["store"] === "ok",
    problems: Array.isArray(problems) ? problems.map(said) : [],
    slices: listOf(bundle["slices"]).map((slice) => ({
      owner: textOf(slice["owner"]),
      file: textOf(slice["file"]),
      ok: slice["ok"] === true,
    })),
    seal_key: body["seal_key"] ? said(JSON.stringify(body["seal_key"])) : null,
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}
