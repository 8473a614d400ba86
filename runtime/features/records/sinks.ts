/** `record_sinks`: services that get every record, and what is kept for them while they are away. */
import { isHeaderName } from "../../shared/http/header-syntax.ts";
import { hasSecret } from "../../settings/secret-spellings.ts";
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
    doc: "How records are sent. `otlp`: OpenTelemetry logs over HTTP, as JSON. `http`: POST requests, a record on each line of the body. `syslog`: RFC 5424 over TLS (RFC 5425); a connection for each batch, which counts as taken once the receiver has closed its side after ours.",
    required: true,
  }),
  url: url({
    doc: "Where `otlp` and `http` send to, with its path: `https://otlp.example.com/v1/logs`. https, or http on the gateway's own machine; never at a link-local or cloud metadata address; redirects are not followed.",
    unset: "required there",
    read: (value) => overTlsOrLoopback(parseHttpUrl(value)),
  }),
  address: text({
    doc: 'Where `syslog` sends to, "host:port": "logs.example.com:6514".',
    unset: "required there",
    check: (value) => (/^:|:0+$/.test(value) ? 'must be "host:port"' : readable(parseListener)(value)),
  }),
  format: choice(["ndjson", "ocsf", "json", "structured_data"], {
    doc: "Of `http`: `ndjson`, the record as it is, or `ocsf`, events of the Open Cybersecurity Schema Framework 1.5 (API Activity 6003, Entity Management 3004, Base Event 0 for what is neither). Of `syslog`: `json`, the record as the message, or `structured_data`.",
    unset: "`ndjson` or `json`",
  }),
  structured_data_id: text({
    doc: 'Name of the structured data of `syslog`, with the number that IANA gave your enterprise: "gateway@12345".',
    unset: "required for `structured_data`",
    check: (value) =>
      /^[\x21\x23-\x3c\x3e\x3f\x41-\x5c\x5e-\x7e]{1,22}@[0-9]{1,9}$/.test(value)
        ? undefined
        : `is ${quote(value)}, must be like "gateway@12345"`,
  }),
  headers: labelled(
    { ...secret("value", { doc: "Value of the header.", unset: "required, in one of its spellings" }) },
    {
      doc: "Headers of the requests of `otlp` and `http`, by name, such as `authorization`.",
      unset: "none",
      checkName: (name) => (isHeaderName(name) ? undefined : "is not a header name"),
    },
  ),
  ca_file: text({
    doc: "PEM file of the authorities that sign the receiver's certificate; read anew for each connection, as the other two are.",
    unset: "those that Node.js trusts",
    check: filePath,
  }),
  certificate_file: text({
    doc: "PEM file of a client certificate, leaf first.",
    unset: "the receiver sees none",
    check: filePath,
  }),
  certificate_key_file: text({ doc: "PEM file of its private key.", unset: "none", check: filePath }),
  server_name: text({
    doc: "Name that the receiver's certificate must have.",
    unset: "the host of `url` or `address`",
    check: (value) => (/^[A-Za-z0-9._-]{1,253}$/.test(value) ? undefined : `is ${quote(value)}, must be a host name`),
  }),
  timeout: duration({
    doc: "For the receiver to take a batch: at most 512 records and 1 MiB, with `syslog` 8,192 and 4 MiB.",
    default: "10s",
    minMs: 100,
  }),
  spool_max_bytes: count({
    doc: "Bytes of records that wait on the disk for this receiver, of each worker. What finds no room is lost to it, and told by a `record gap` in the log and to the receiver; with `audit_required` requests are refused before that.",
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
    doc: "Services that get every record: at least once, in order, from a spool on the disk, so that one that is away holds nobody up. Names are of lower-case letters, digits, `-` and `_`.",
    unset: "records are in `authorize_log` alone",
    checkName: (name) =>
      /^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)
        ? undefined
        : 'must be at most 63 lower-case letters, digits, "-" and "_", beginning with a letter or digit',
  }),
  record_spool: text({
    doc: "Directory of what waits for `record_sinks`, relative to the working directory or absolute: on a disk that outlives the process, and of one gateway alone. It is made with mode 700.",
    default: "record-spool",
    check: (value) => (value === "" || value.includes("\0") ? "must be the path of a directory" : undefined),
  }),
  audit_required: flag({
    doc: "Let no request pass that cannot be recorded: while the log cannot be written, or a sink or the record store cannot keep what comes, requests to routes are answered 503 (`records.unavailable`), and `/readyz` says so. Needs a place that keeps records: a file in `authorize_log`, `record_sinks` or `record_store`.",
    default: false,
  }),
};

/** What is for one kind of sink alone. */
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
    // Of another type; that is said already.
    if (of === undefined) continue;
    if (sink[of.needs] === undefined) yield errorAt(path, `has no "${of.needs}", which "${sink.kind}" needs`);
    for (const member of of.not) {
      if (sink[member] !== undefined) yield errorAt([...path, member], `is not for "${sink.kind}"`);
    }
    if (sink.format !== undefined && !of.formats.includes(sink.format)) {
      const expected = of.formats.length === 0 ? "must be left out" : `must be one of ${of.formats.join(", ")}`;
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

/** A pipe keeps nothing: whoever reads it may be gone. */
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
