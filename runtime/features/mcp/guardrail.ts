/** `mcp.server.guardrail`: an HTTP service that checks tool calls, and their results if set, before they continue. */
import type { UpstreamReach } from "../connection/compiled.ts";
import { compileSigningKeys, signingKeyProblems } from "../../settings/signing-keys.ts";
import { errorAt, type Report } from "../../settings/problem.ts";
import type { SecretSource } from "../../settings/secret-forms.ts";
import { block } from "../../settings/types/block.ts";
import { type ShapeDoc, withDefaults } from "../../settings/types/registry.ts";
import { duration, flag, url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { accepted, parseDuration, parseHttpUrl } from "../../settings/values.ts";

const guardrailShape = {
  url: url({
    doc: "Address of the service. Each check is a signed POST request with JSON.",
    required: true,
    annotation: "mcp_server_guardrail_url",
    read: parseHttpUrl,
  }),
  ...secret("secret", {
    doc: "Signing key according to Standard Webhooks: base64 of 24 to 64 random bytes. Several for rotation: each signs.",
    unset: "required, in one of its forms",
    many: true,
  }),
  results: flag({
    doc: "Also check results of calls. Results above 1 MiB are denied.",
    default: false,
    annotation: "mcp_server_guardrail_results",
  }),
  timeout: duration({
    doc: "Time limit for each check, up to 1 minute. Calls without a verdict are denied.",
    default: "5s",
    annotation: "mcp_server_guardrail_timeout",
    minMs: 1,
  }),
  shadow: flag({
    doc: "Record verdicts without enforcing them. Calls still wait for them.",
    default: false,
    annotation: "mcp_server_guardrail_shadow",
  }),
};

export type GuardrailDoc = ShapeDoc<typeof guardrailShape>;

export const guardrailBlock = block(guardrailShape, {
  doc: "HTTP service that allows, denies or changes allowed tool calls, and their results if set.",
  unset: "none",
});

/** Compiled settings. */
export interface Guardrail {
  readonly url: string;
  /** Raw keys; each signs. */
  readonly keys: readonly Buffer[];
  readonly checksResults: boolean;
  readonly timeoutMs: number;
  readonly isShadow: boolean;
  /** Networks that connections may reach; undefined: any. */
  readonly reach: UpstreamReach | undefined;
}

const MAX_TIMEOUT_MS = 60_000;

/** @throws GatewayError `config.secret` */
export function compileGuardrail(
  doc: GuardrailDoc | undefined,
  secrets: SecretSource,
  reach: UpstreamReach | undefined,
): Guardrail | undefined {
  if (doc === undefined) return undefined;
  const { results, timeout, shadow } = withDefaults(guardrailShape, doc);
  return {
    url: doc.url,
    keys: compileSigningKeys(doc, "guardrail", secrets),
    checksResults: results,
    timeoutMs: accepted(parseDuration(timeout)),
    isShadow: shadow,
    reach,
  };
}

/** @param report paths are below `mcp.server.guardrail` */
export function guardrailRules(doc: GuardrailDoc, report: Report): void {
  for (const problem of signingKeyProblems(doc, [])) report(problem);
  const timeout = doc.timeout === undefined ? undefined : parseDuration(doc.timeout);
  if (timeout?.ok === true && timeout.value > MAX_TIMEOUT_MS)
    report(errorAt(["timeout"], `is "${doc.timeout}", must be at most 1 minute`));
}
