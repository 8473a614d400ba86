/** Requests of everything but bundles to the admin address that they name, with the token that they name. */
import { attempting, GatewayError } from "../../shared/errors.ts";
import { TERRAFORM_PROGRAM, userAgentOf } from "../../shared/version.ts";
import { adminToken, type AdminConnection } from "./admin-token.ts";
import { askGateway, type GatewayAnswer } from "./ask-gateway.ts";
import { gatewayTls } from "./gateway-tls.ts";
import type { SchemaAttribute } from "../schema/schema-model.ts";
import type { ValueMap } from "../protocol/value.ts";

export const GATEWAY_URL: SchemaAttribute = {
  name: "url",
  type: "string",
  use: "required",
  doc: "Admin address of the gateway, such as `http://127.0.0.1:9901`.",
};

export const TOKEN_REF: SchemaAttribute = {
  name: "token_ref",
  type: "string",
  use: "optional",
  doc: "Where Terraform reads the admin token, or the owner's publish token, on the machine where it runs: `env:NAME` or `file:/path`; for `gateway_publish_token` also the token that a platform gives the job (`publish_workloads` of the owner), of GitHub Actions by `github:AUDIENCE`. Default: `admin_token` of the provider, else the environment variable `GATEWAY_ADMIN_TOKEN`.",
};

const TIMEOUT_MS = 15_000;

export interface AdminQuestion {
  readonly method: string;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** Code of the error when there is no response. */
  readonly code: string;
}

/**
 * @param config `url`, and optionally `token_ref` and the attributes that gatewayTls() reads
 * @returns the response, and the address of the request
 * @throws GatewayError with `code`, `publish.token`, `publish.tls`
 */
export async function askAdmin(
  config: ValueMap,
  connection: AdminConnection,
  { method, path, body, headers, code, timeoutMs = TIMEOUT_MS }: AdminQuestion,
): Promise<GatewayAnswer & { readonly base: string }> {
  const { url } = config;
  if (typeof url !== "string") throw new GatewayError(code, 'Cannot ask the gateway: "url" is not known');
  const base = url.replace(/\/+$/, "");
  const authorization = `Bearer ${await adminToken(config["token_ref"] ?? null, connection)}`;
  const tls = await gatewayTls(connection, config);
  const answer = await attempting(code, `Cannot reach the gateway at "${base}"`, () =>
    askGateway({
      method,
      url: `${base}${path}`,
      headers: {
        ...headers,
        authorization,
        "user-agent": userAgentOf(TERRAFORM_PROGRAM),
        ...(body && { "content-type": "application/json" }),
      },
      body: body && JSON.stringify(body),
      timeoutMs,
      tls,
    }),
  );
  return { ...answer, base };
}

/** The gateway's reason for a rejection, to append to the status. */
export function reasonOf({ status, body, said }: GatewayAnswer): string {
  if (status === 421) return ': it does not accept requests for this host name; add it to "admin_hosts"';
  const message = said(body?.["message"]);
  return message === "" ? "" : ` (${message})`;
}
