/** Compiles `record_sinks` for the record thread. */
import type { SecretSource } from "../../settings/secret-forms.ts";
import { withDefaults } from "../../settings/types/registry.ts";
import { accepted, parseDuration, parseListener } from "../../settings/values.ts";
import { headerValue } from "../process/header-value.ts";
import type { RecordSinkSettings, SinkTarget } from "./compiled.ts";
import { recordSinkShape, type SinkDoc } from "./sinks.ts";
import { bareHost } from "../../shared/net/bare-host.ts";

/** @throws GatewayError `config.secret` */
export function compileRecordSinks(
  sinks: Readonly<Record<string, SinkDoc>>,
  secrets: SecretSource,
): readonly RecordSinkSettings[] {
  return Object.entries(sinks).map(([name, written]) => {
    const sink = withDefaults(recordSinkShape, written);
    return {
      name,
      target: targetOf(name, written, secrets),
      tls: {
        caFile: sink.ca_file,
        certificateFile: sink.certificate_file,
        keyFile: sink.certificate_key_file,
        serverName: sink.server_name,
      },
      timeoutMs: accepted(parseDuration(sink.timeout)),
      spoolMaxBytes: sink.spool_max_bytes,
    };
  });
}

function targetOf(
  name: string,
  { kind, url: to = "", address = "", format, structured_data_id: id, headers = {} }: SinkDoc,
  secrets: SecretSource,
): SinkTarget {
  if (kind === "syslog") {
    const { host, port } = accepted(parseListener(address));
    return {
      kind,
      host: bareHost(host),
      port,
      structuredDataId: format === "structured_data" ? id : undefined,
    };
  }
  const values = Object.entries(headers).map(
    ([header, value]) => [header, headerValue(`record_sinks.${name}`, header, value, secrets)] as const,
  );
  const sent = { url: to, headers: new Map(values) };
  return kind === "otlp" ? { kind, ...sent } : { kind, ...sent, format: format === "ocsf" ? "ocsf" : "ndjson" };
}
