/**
 * TLS for a gateway's admin address: from the provider's configuration, or from a data source.
 *
 * Keys come from the provider's block, which Terraform stores nowhere, or by reference. No message contains them.
 */
import { createSecureContext } from "node:tls";

import { GatewayError } from "../../shared/errors.ts";
import { type AdminConnection, readReference } from "./admin-token.ts";
import type { GatewayTls } from "./ask-gateway.ts";
import type { SchemaAttribute } from "../schema/schema-model.ts";
import { isUnknown, type Value } from "../protocol/value.ts";

const CA_DOC =
  'PEM of the authorities that sign the certificate of the admin address (`admin_tls`), such as `file("ca.pem")`';
const CERT_DOC = "PEM of the client certificate to present there, if the gateway requires one (`client_ca_file`)";

/** Attributes of the provider's block. */
export const PROVIDER_TLS: readonly SchemaAttribute[] = [
  { name: "ca", type: "string", use: "optional", doc: `${CA_DOC}. Default: the authorities that Node.js trusts.` },
  { name: "client_cert", type: "string", use: "optional", doc: `${CERT_DOC}. Needs \`client_key\`.` },
  {
    name: "client_key",
    type: "string",
    use: "optional",
    sensitive: true,
    doc: "PEM of its private key. Stored in no state and no plan; may be an ephemeral value.",
  },
];

/** Attributes of a data source, whose values are stored. */
export const DATA_SOURCE_TLS: readonly SchemaAttribute[] = [
  { name: "ca", type: "string", use: "optional", doc: `${CA_DOC}. Default: \`ca\` of the provider.` },
  {
    name: "client_cert",
    type: "string",
    use: "optional",
    doc: `${CERT_DOC}. Needs \`client_key_ref\`. Default: those of the provider.`,
  },
  {
    name: "client_key_ref",
    type: "string",
    use: "optional",
    doc: "Where Terraform reads the PEM of its private key, on the machine where it runs: `env:NAME` or `file:/path`.",
  },
];

/** Values of a data source; for each that is absent or null, the provider's is used. */
export interface OwnTls {
  readonly ca?: Value | undefined;
  readonly client_cert?: Value | undefined;
  readonly client_key_ref?: Value | undefined;
}

/** @throws GatewayError `publish.tls`, `publish.token` when a reference cannot be read */
export async function gatewayTls(connection: AdminConnection, own: OwnTls = {}): Promise<GatewayTls> {
  const ca = textOf("ca", own.ca ?? connection.ca);
  const hasOwn = typeof own.client_cert === "string" || typeof own.client_key_ref === "string";
  const cert = textOf("client_cert", hasOwn ? (own.client_cert ?? null) : connection.clientCert);
  const key = hasOwn ? await ownKey(own.client_key_ref) : textOf("client_key", connection.clientKey);
  if ((cert === undefined) !== (key === undefined)) {
    throw refusal('"client_cert" and the key of it are given together or not at all');
  }
  const tls = { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) };
  try {
    if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----")) throw new TypeError("no certificate");
    createSecureContext(tls);
  } catch (cause) {
    // The library's message may quote its input.
    throw refusal('"ca", "client_cert" and its key must be PEM texts that fit together, not paths of files', cause);
  }
  return tls;
}

async function ownKey(ref: Value | undefined): Promise<string | undefined> {
  return typeof ref === "string" ? readReference(ref, 'client key ("client_key_ref")') : undefined;
}

function textOf(name: string, value: Value): string | undefined {
  if (isUnknown(value)) throw refusal(`"${name}" of the provider is not known yet; apply what makes it first`);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function refusal(reason: string, cause?: unknown): GatewayError {
  return new GatewayError("publish.tls", `Cannot ask the gateway: ${reason}`, { cause });
}
