/** Settings of the process: secrets and keys, storage, shutdown, log and tracing, owners. */
import { ownerPatternProblem } from "./owners.ts";
import { publishWorkloadsShape } from "./publish-workloads.ts";
import { isHeaderName } from "../../shared/http/header-syntax.ts";
import { quote } from "../../settings/problem.ts";
import { isVaultReferencePattern } from "../../settings/vault-reference.ts";
import { decodeBase64, parseHttpUrl } from "../../settings/values.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { block, labelled } from "../../settings/types/block.ts";
import { choice, count, duration, flag, text, url } from "../../settings/types/scalar.ts";
import { domainPatternList, textList } from "../../settings/types/list.ts";
import { secret } from "../../settings/types/secret.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";

/** Values of `owners.<name>.allowed_tokens`. */
const OWNER_TOKENS: readonly string[] = ["external", "provider", "id_jag"];

export const DEFAULT_STORAGE_URL = "sqlite:gateway.db";

export const developmentShape = {
  development: flag({
    doc: "Accept http and loopback addresses in OAuth discovery. Listeners must be on loopback.",
    default: false,
  }),
};

export const keysShape = {
  ...secret("admin_token", {
    doc: "Bearer token of the admin listener. Without it, only `/healthz` and `/readyz` are served.",
    unset: "none",
  }),
  ...secret("shared_secret", {
    doc: "Secret from which all keys are derived, the same on all replicas: base64 of at least 32 random bytes (`openssl rand -base64 32`).",
    unset: "random at each start, which invalidates all sign-ins",
  }),
  ...secret("previous_shared_secret", {
    doc: "Previous shared secrets, still accepted during rotation.",
    unset: "none",
    many: true,
  }),
  ...secret("signing_key", {
    doc: "P-256 private keys (PEM, or base64 of PEM) for the identity header. The first signs, all are published.",
    unset: "derived from `shared_secret`",
    many: true,
  }),
  // A database URL contains a password, so it has the three forms of a secret.
  ...secret("storage_url", {
    doc: 'Database URL: "memory:", "sqlite:PATH" or "postgres://USER:PASSWORD@HOST/DATABASE".',
    default: DEFAULT_STORAGE_URL,
  }),
  drain_timeout: duration({ doc: "Maximum wait for open requests on shutdown.", default: "30s" }),
  drain_delay: duration({
    doc: "Delay between `/readyz` 503 and closing listeners, for load balancers.",
    default: "0s",
  }),
};

export const logShape = {
  log_level: choice(["debug", "info", "warn", "error"], {
    doc: "Minimum log level.",
    default: "info",
  }),
  tracing: block(
    {
      endpoint: url({
        doc: "OTLP/HTTP endpoint for spans, with its path: `http://127.0.0.1:4318/v1/traces`.",
        unset: "none",
        read: parseHttpUrl,
      }),
      headers: labelled(
        { ...secret("value", { doc: "Header value.", unset: "required, in one of its forms" }) },
        {
          doc: "Headers of requests to `endpoint`, by name.",
          unset: "none",
          checkName: (name) => (isHeaderName(name) ? undefined : "is not a header name"),
        },
      ),
      service_name: text({
        doc: "Service name in spans (`service.name`).",
        default: "gateway",
        check: (value) => (value === "" || value.length > 255 ? "must be a name of at most 255 characters" : undefined),
      }),
      sample_one_in: count({
        doc: "One of N new traces is recorded. 1 records all.",
        default: 1,
        min: 1,
        max: 1_000_000,
      }),
      continue_traces: flag({
        doc: "Continue the client's trace and sampling flag. Only if clients are trusted.",
        default: false,
      }),
    },
    {
      doc: "W3C trace context for upstreams, and OpenTelemetry spans. Without it, the clients' `traceparent` and `tracestate` are forwarded.",
      unset: "none",
    },
  ),
};

/** @param liveNames names of the settings that slices can have and that need permission */
export const ownersShape = (liveNames: readonly string[]) => ({
  owners: labelled(
    {
      ...secret("publish_token", {
        doc: "Tokens to read and publish this owner's slice: at least 20 characters, several for rotation. Without it, only `admin_token` can publish.",
        unset: "none",
        many: true,
      }),
      publish_workloads: publishWorkloadsShape,
      allowed_from: domainPatternList({ doc: "Hosts allowed in `from`.", unset: "all hosts" }),
      allow_acme: flag({
        doc: "Request certificates for the hosts of this owner's routes. Only with `acme`.",
        default: false,
      }),
      allow_local_upstreams: flag({
        doc: "Allow upstreams on the gateway's own host. Link-local and cloud metadata addresses are never allowed.",
        default: false,
      }),
      allowed_settings: textList({
        doc: 'Dynamic settings allowed in this owner\'s slice, by name; "*" for all. They apply to the routes of all owners.',
        unset: "none",
        itemValues: ["*", ...liveNames],
        check: (value) =>
          value === "*" || liveNames.includes(value)
            ? undefined
            : quotedProblem(value, "must be the name of a dynamic setting"),
      }),
      allowed_tokens: textList({
        doc: "Tokens that its routes can pass on: of applications (`external`), of the identity provider (`provider`), or by `upstream_oauth2.id_jag` (`id_jag`).",
        unset: "none",
        itemValues: OWNER_TOKENS,
        check: (value) =>
          OWNER_TOKENS.includes(value) ? undefined : quotedProblem(value, 'must be "external", "provider" or "id_jag"'),
      }),
      allowed_refs: textList({
        doc: 'Secret references allowed in this owner\'s slice. A trailing "*" matches any rest: "env:TEAM_A_*".',
        unset: "none",
        check: (value) =>
          isVaultReferencePattern(value) ||
          (/^(env:[A-Za-z0-9_]+\*?|file:\/[^*\0]+\*?)$/.test(value) && !value.split("/").includes(".."))
            ? undefined
            : `is ${quote(value)}, must be like "env:TEAM_A_*", "file:/run/secrets/team-a/*" or "vault:kv/team-a/*"`,
      }),
    },
    {
      doc: "Permissions of each owner's slice; `kubernetes.*` matches all owners with that prefix. If set, slices of other owners are rejected.",
      unset: "none",
      checkName: ownerPatternProblem,
    },
  ),
});

/** Raw bytes of a shared secret; undefined when it is not base64 of at least 32 bytes. */
export function decodeSharedSecret(value: string): Buffer | undefined {
  const bytes = decodeBase64(value.trim());
  return bytes !== undefined && bytes.length >= 32 ? bytes : undefined;
}

/** Process settings as written. */
export type ProcessDoc = ShapeDoc<
  typeof developmentShape & typeof keysShape & typeof logShape & ReturnType<typeof ownersShape>
>;
