/** Settings of the process: secrets and keys, storage, stopping, log and tracing, whose slices it takes. */
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

/** Of `owners.<name>.allowed_tokens`. */
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
    doc: "Bearer token of the admin listener, needed on every path but `/healthz` and `/readyz`.",
    unset: "only `/healthz` and `/readyz` answer",
  }),
  ...secret("shared_secret", {
    doc: "Base64 of at least 32 random bytes from which all keys are derived; the same on all replicas. Make one with `openssl rand -base64 32`.",
    unset: "a random one at each start, which ends all sign-ins",
  }),
  ...secret("previous_shared_secret", {
    doc: "Earlier shared secrets that still open what they sealed, for rotation.",
    unset: "none",
    many: true,
  }),
  ...secret("signing_key", {
    doc: "PEM (or base64 of PEM) of P-256 private keys for the identity header: the first signs, all are published.",
    unset: "derived from `shared_secret`",
    many: true,
  }),
  // A database URL holds a password, so it has the three spellings of a secret.
  ...secret("storage_url", {
    doc: '"memory:", "sqlite:PATH" (relative to the working directory, or absolute) or "postgres://USER:PASSWORD@HOST/DATABASE".',
    default: DEFAULT_STORAGE_URL,
  }),
  drain_timeout: duration({ doc: "Longest wait for open requests when stopping.", default: "30s" }),
  drain_delay: duration({
    doc: "Wait between saying on `/readyz` that the gateway stops and taking no more requests, so that load balancers notice first.",
    default: "0s",
  }),
};

export const logShape = {
  log_level: choice(["debug", "info", "warn", "error"], {
    doc: "Least severe operator log lines written.",
    default: "info",
  }),
  tracing: block(
    {
      endpoint: url({
        doc: "URL of an OTLP receiver over HTTP, with its path: `http://127.0.0.1:4318/v1/traces`.",
        unset: "trace ids are made and passed on, spans are not exported",
        read: parseHttpUrl,
      }),
      headers: labelled(
        { ...secret("value", { doc: "Value of the header.", unset: "required, in one of its spellings" }) },
        {
          doc: "Headers of requests to the receiver, by name.",
          unset: "none",
          checkName: (name) => (isHeaderName(name) ? undefined : "is not a header name"),
        },
      ),
      service_name: text({
        doc: "Name of this service in the spans (`service.name`).",
        default: "gateway",
        check: (value) => (value === "" || value.length > 255 ? "must be a name of at most 255 characters" : undefined),
      }),
      sample_one_in: count({
        doc: "One of so many traces that begin here is recorded; 1 records all.",
        default: 1,
        min: 1,
        max: 1_000_000,
      }),
      continue_traces: flag({
        doc: "Continue the trace that a client names in `traceparent`, or where it has no such header in `_meta` of its MCP message, and honour its sampling flag. Only for gateways whose clients are trusted; otherwise each request begins a trace here.",
        default: false,
      }),
    },
    {
      doc: "W3C trace context on requests to upstreams, and OpenTelemetry spans. An empty block is enough for the trace context.",
      unset: "`traceparent` and `tracestate` of clients are passed on like other headers",
    },
  ),
};

/** @param liveNames of the settings that slices may carry and that need leave */
export const ownersShape = (liveNames: readonly string[]) => ({
  owners: labelled(
    {
      ...secret("publish_token", {
        doc: "Tokens with which this owner's slice is read and published at the admin listener, and no other; several for rotation. At least 20 characters. They also read `/status` as far as it is about this owner. With a name such as `kubernetes.*` they are good for all owners with that beginning.",
        unset: "the slice is published with `admin_token` alone",
        many: true,
      }),
      publish_workloads: publishWorkloadsShape,
      allowed_from: domainPatternList({ doc: "Hosts its routes may have in `from`.", unset: "any host" }),
      allow_local_upstreams: flag({
        doc: "Upstreams of its routes may be on the gateway's own machine, by whatever name or address. Link-local and cloud metadata addresses never are. Judged on the address that a connection is opened to.",
        default: false,
      }),
      allowed_settings: textList({
        doc: 'Live settings its slice may write, by name; "*" for all. They hold for the routes of all owners.',
        unset: "none",
        itemValues: ["*", ...liveNames],
        check: (value) =>
          value === "*" || liveNames.includes(value)
            ? undefined
            : quotedProblem(value, "must be the name of a live setting"),
      }),
      allowed_tokens: textList({
        doc: "Tokens that its routes may hand to applications: `external`, MCP client routes, whose applications get External Tokens of their users; `provider`, `${gateway.access_token}` and `${gateway.id_token}`. And `id_jag`, `upstream_oauth2.id_jag`, by which its upstreams get tokens of their users without asking them.",
        unset: "none",
        itemValues: OWNER_TOKENS,
        check: (value) =>
          OWNER_TOKENS.includes(value) ? undefined : quotedProblem(value, 'must be "external", "provider" or "id_jag"'),
      }),
      allowed_refs: textList({
        doc: 'Secret references its slice may use; a trailing "*" matches any rest: "env:TEAM_A_*", "vault:kv/team-a/*".',
        unset: "none",
        check: (value) =>
          isVaultReferencePattern(value) ||
          (/^(env:[A-Za-z0-9_]+\*?|file:\/[^*\0]+\*?)$/.test(value) && !value.split("/").includes(".."))
            ? undefined
            : `is ${quote(value)}, must be like "env:TEAM_A_*", "file:/run/secrets/team-a/*" or "vault:kv/team-a/*"`,
      }),
    },
    {
      doc: "What slices of each owner may do. A name such as `kubernetes.*` holds for all owners with that beginning that have no entry of their own, the longest first. Once set, slices of owners not named here are refused.",
      unset: "any owner, any host, any live setting, any token, no secret references",
      checkName: ownerPatternProblem,
    },
  ),
});

/** Raw bytes of a shared secret; undefined when it is not base64 of at least 32 bytes. */
export function decodeSharedSecret(value: string): Buffer | undefined {
  const bytes = decodeBase64(value.trim());
  return bytes !== undefined && bytes.length >= 32 ? bytes : undefined;
}

/** What may be written about the process. */
export type ProcessDoc = ShapeDoc<
  typeof developmentShape & typeof keysShape & typeof logShape & ReturnType<typeof ownersShape>
>;
