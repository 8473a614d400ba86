/**
 * The admin token of a gateway: from a reference in the resource, from the provider's configuration, or from the environment.
 * None of these writes it to the state or a plan.
 */
import { readFile } from "node:fs/promises";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { githubToken } from "./github-token.ts";
import { isUnknown, type Value } from "../protocol/value.ts";

export const TOKEN_VARIABLE = "GATEWAY_ADMIN_TOKEN";

/** Configuration of the provider; Terraform stores it nowhere. */
export interface AdminConnection {
  adminToken: Value;
  ca: Value;
  clientCert: Value;
  clientKey: Value;
}

/** Prefix of an audience: uses the token of the GitHub Actions job in which Terraform runs. */
export const GITHUB_REFERENCE = "github:";

/** @param ref `env:NAME`, `file:/path` or `github:AUDIENCE` on the host where Terraform runs; null when there is none */
export async function adminToken(ref: Value, connection: AdminConnection): Promise<string> {
  if (typeof ref === "string" && ref.startsWith(GITHUB_REFERENCE))
    return githubToken(ref.slice(GITHUB_REFERENCE.length), process.env);
  if (typeof ref === "string") return readReference(ref, 'admin token ("token_ref")');
  if (typeof connection.adminToken === "string" && connection.adminToken !== "") return connection.adminToken;
  const fromEnvironment = process.env[TOKEN_VARIABLE];
  if (fromEnvironment !== undefined && fromEnvironment !== "") return fromEnvironment;
  throw new GatewayError(
    "publish.token",
    isUnknown(connection.adminToken)
      ? 'Cannot ask the gateway: "admin_token" of the provider is not known yet; apply what makes it first'
      : `Cannot ask the gateway: no admin token is given; set "token_ref" of the http block, "admin_token" of the provider, or the environment variable ${TOKEN_VARIABLE}`,
  );
}

/** @param ref as above. @param what its content, for messages. @throws GatewayError `publish.token` */
export async function readReference(ref: string, what: string): Promise<string> {
  const [kind, name] = [ref.slice(0, ref.indexOf(":")), ref.slice(ref.indexOf(":") + 1)];
  // Not quoted: it may be the token itself.
  if (kind !== "env" && kind !== "file") {
    throw new GatewayError("publish.token", `Cannot read the ${what}: it must be "env:NAME" or "file:/path"`);
  }
  const refuse = (reason: string, cause?: unknown): GatewayError =>
    new GatewayError("publish.token", `Cannot read the ${what} from "${ref}": ${reason}`, { cause });
  if (kind === "env") {
    const text = process.env[name]?.trim();
    if (text) return text;
    throw refuse("the environment variable is not set where Terraform runs");
  }
  let text: string;
  try {
    text = (await readFile(name, "utf8")).trim();
  } catch (error) {
    throw refuse(errorText(error), error);
  }
  if (text === "") throw refuse("the file is empty");
  return text;
}
