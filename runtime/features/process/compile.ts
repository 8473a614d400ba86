/** Compiles settings of the process. */
import type { logShape } from "./settings.ts";
import type { WithDefaults } from "../../settings/types/registry.ts";
import { createPrivateKey } from "node:crypto";
import { GatewayError } from "../../shared/errors.ts";
import { decodeSharedSecret } from "./settings.ts";
import type { ProcessSettings } from "./compiled.ts";
import { headerValue } from "./header-value.ts";
import type { SecretSource } from "../../settings/secret-forms.ts";
import { decodeBase64 } from "../../settings/values.ts";

export function compileTracing(
  {
    endpoint,
    headers,
    service_name,
    sample_one_in,
    continue_traces,
  }: NonNullable<WithDefaults<typeof logShape>["tracing"]>,
  secrets: SecretSource,
): ProcessSettings["tracing"] {
  const values = Object.entries(headers ?? {}).map(
    ([name, header]) => [name, headerValue("tracing", name, header, secrets)] as const,
  );
  return {
    endpoint,
    headers: new Map(values),
    serviceName: service_name,
    sampleOneIn: sample_one_in,
    continueTraces: continue_traces,
  };
}

export function sharedSecret(name: string, value: string): Buffer {
  const bytes = decodeSharedSecret(value);
  if (!bytes) throw new GatewayError("config.secret", `Cannot use "${name}": it must be base64 of at least 32 bytes`);
  return bytes;
}

/** PEM, or base64 of PEM for an environment variable. */
export function signingKey(value: string): string {
  const pem = value.includes("-----BEGIN") ? value : (decodeBase64(value.replace(/\s/g, ""))?.toString("utf8") ?? "");
  const message = 'Cannot use "signing_key": it must be the PEM of a P-256 private key';
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyDetails?.namedCurve === "prime256v1") return pem;
  } catch (error) {
    throw new GatewayError("config.secret", message, { cause: error });
  }
  throw new GatewayError("config.secret", message);
}
