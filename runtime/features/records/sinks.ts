/** `record_sinks`: services that receive every record, and storage for their outages. */
import { isHeaderName } from "../../shared/http/header-syntax.ts";
import { hasSecret } from "../../settings/secret-forms.ts";
import { errorAt, quote, type UnplacedProblem } from "../../settings/problem.ts";
import { labelled } from "../../settings/types/block.ts";
import { readable } from "../../settings/types/checks.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { choice, count, duration, flag, text, url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { overTlsOrLoopback, parseHttpUrl, parseListener } from "../../settings/values.ts";

const filePath = (path: string): string | undefined =>
  /^\/[^\0]+$/.test(path) ? undefined : `is ${quote(path)}, must be an absolute path`;

const shape = {
  kind: choice(["otlp", "http", "syslog"], {
    doc: "OpenTelemetry logs over HTTP, POST requests with one record per line, or syslog over TLS (RFC 5425).",
    required: true,
  }),
  url: url({
    doc: "Destination for `otlp` and `http`, with its path. http on loopback only.",
    unset: "required for `otlp` and `http`",
    read: (value) => overTlsOrLoopback(parseHttpUrl(value)),
  }),
  address: text({
    doc: 'Destination for `syslog`: "logs.example.com:6514".',
    unset: "required for `syslog`",
    check: (value) => (/^:|:0+$/.test(value) ? 'must be "host:port"' : readable(parseListener)(value)),
  }),
  format: choice(["ndjson", "ocsf", "json", "structured_data"], {
    doc: "Record format: `ndjson` or `ocsf` for `http`, `json` or `structured_data` for `syslog`.",
    unset: "`ndjson` for `http`, `json` for `syslog`",
  }),
  structured_data_id: text({
    doc: 'Name of the structured data, with your IANA enterprise number: "gateway@12345".',
    unset: "required for `structured_data`",
    check: (value) =>
      /^[\x21\x23-\x3c\x3e\x3f\x41-\x5c\x5e-\x7e]{1,22}@[0-9]{1,9}$/.test(value)
        ? undefined
        : `is ${quote(value)}, must be like "gateway@12345"`,
  }),
  headers: labelled(
    { ...secret("value", { doc: "Header value.", unset: "required, in one of its forms" }) },
    {
      doc: "Headers of `otlp` and `http` requests, by name, such as `authorization`.",
      unset: "none",
      checkName: (name) => (isHeaderName(name) ? undefined : "is not a header name"),
    },
  ),
  ca_file: text({
    doc: "CA file (PEM) for the destination's certificate.",
    unset: "CAs trusted by Node.js",
    check: filePath,
  }),
  certificate_file: text({
    doc: "Client certificate file (PEM), leaf first.",
    unset: "none",
    check: filePath,
  }),
  certificate_key_file: text({
    doc: "Private key file (PEM) of the client certificate.",
    unset: "none",
    check: filePath,
  }),
  server_name: text({
    doc: "Server name that the destination's certificate must match.",
    unset: "the host of `url` or `address`",
    check: (value) => (/^[A-Za-z0-9._-]{1,253}$/.test(value) ? undefined : `is ${quote(value)}, must be a host name`),
  }),
  timeout: duration({
    doc: "Maximum time to deliver a batch.",
    default: "10s",
    minMs: 100,
  }),
  spool_max_bytes: count({
    doc: "Maximum size of the spool in bytes, per worker. If it is full, records are dropped; with `audit_required`, requests are rejected instead.",
    default: 256 << 20,
    min: 64 << 20,
    max: 2 ** 40,
  }),
};

export { shape as recordSinkShape };

/** A sink as written. */
export type SinkDoc = ShapeDoc<typeof shape>;

export const recordSinksShape = {
  record_sinks: labelled(shape, {
    doc: "Destinations for all records, delivered at least once and in order. Names: lower-case letters, digits, `-` and `_`.",
    unset: "none",
    checkName: (name) =>
      /^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)
        ? undefined
        : 'must be at most 63 lower-case letters, digits, "-" and "_", starting with a letter or digit',
  }),
  record_spool: text({
    doc: "Spool directory of `record_sinks` and `record_store`, on a persistent disk and not shared between gateways.",
    default: "record-spool",
    check: (value) => (value === "" || value.includes("\0") ? "must be the path of a directory" : undefined),
  }),
  audit_required: flag({
    doc: "Reject requests that cannot be recorded with 503. Requires a file in `authorize_log`, `record_sinks` or `record_store`.",
    default: false,
  }),
};

/** Members that only one kind of sink has. */
const OF_KIND: Readonly<
  Record<
    SinkDoc["kind"],
    { readonly needs: "url" | "address"; readonly not: readonly (keyof SinkDoc)[]; readonly formats: readonly string[] }
  >
> = {
  otlp: { needs: "url", not: ["address", "structured_data_id"], formats: [] },
  http: { needs: "url", not: ["address", "structured_data_id"], formats: ["ndjson", "ocsf"] },
  syslog: { needs: "address", not: ["url", "headers"], formats: ["json", "structured_data"] },
};

export function* recordSinkRules({
  record_sinks: sinks = {},
}: Partial<ShapeDoc<typeof recordSinksShape>>): Iterable<UnplacedProblem> {
  for (const [name, sink] of Object.entries(sinks)) {
    const path = ["record_sinks", name];
    const of = OF_KIND[sink.kind];
    // A member of another type, already reported.
    if (of === undefined) continue;
    if (sink[of.needs] === undefined) yield errorAt(path, `has no "${of.needs}", which "${sink.kind}" needs`);
    for (const member of of.not) {
      if (sink[member] !== undefined) yield errorAt([...path, member], `is not for "${sink.kind}"`);
    }
    if (sink.format !== undefined && !of.formats.includes(sink.format)) {
      const expected = of.formats.length === 0 ? "must not be set" : `must be one of ${of.formats.join(", ")}`;
      yield errorAt([...path, "format"], `is not for "${sink.kind}", ${expected}`);
    }
    if (sink.format === "structured_data" && sink.structured_data_id === undefined)
      yield errorAt(path, 'has no "structured_data_id", which "structured_data" needs');
    if (sink.format !== "structured_data" && sink.kind === "syslog" && sink.structured_data_id !== undefined)
      yield errorAt([...path, "structured_data_id"], 'is for "structured_data" alone');
    if ((sink.certificate_file === undefined) !== (sink.certificate_key_file === undefined))
      yield errorAt(path, 'must have both "certificate_file" and "certificate_key_file", or neither');
    for (const [header, value] of Object.entries(sink.headers ?? {})) {
      if (!hasSecret(value, "value"))
        yield errorAt([...path, "headers", header], 'has no value, must have "value", "value_ref" or "value_sealed"');
    }
  }
}

/** A pipe stores nothing: its reader may be gone. */
export function* auditPlaces(settings: {
  readonly audit_required?: boolean;
  readonly authorize_log?: string;
  readonly record_sinks?: object;
  readonly record_store?: object;
}): Iterable<UnplacedProblem> {
  const {
    audit_required: isRequired,
    authorize_log: log = "stdout",
    record_sinks: sinks = {},
    record_store,
  } = settings;
  if (isRequired === true && log === "stdout" && Object.keys(sinks).length === 0 && record_store === undefined)
    yield errorAt(
      ["audit_required"],
      'needs a place that keeps records: a file in "authorize_log", "record_sinks" or "record_store"',
    );
}
