/** Pomerium's trace settings → ours: OTLP over HTTP, sampled by count. */
import { type Members } from "../../shared/is-record.ts";
import { quote } from "../../settings/problem.ts";
import { choiceText } from "./values.ts";
import type { ImportReport } from "./note.ts";
import { isWritten, secretVariable } from "./secret.ts";

/** Converted keys; the others are reported. */
const KEYS: ReadonlySet<string> = new Set([
  "otel_traces_exporter",
  "otel_exporter_otlp_endpoint",
  "otel_exporter_otlp_traces_endpoint",
  "otel_exporter_otlp_protocol",
  "otel_exporter_otlp_traces_protocol",
  "otel_exporter_otlp_headers",
  "otel_exporter_otlp_traces_headers",
  "otel_traces_sampler_arg",
  "tracing_provider",
  "tracing_otlp_endpoint",
  "tracing_otlp_protocol",
  "tracing_sample_rate",
]);

export function isTracingKey(key: string): boolean {
  return KEYS.has(key);
}

export function convertTracing(config: Members, report: ImportReport): Members {
  const first = (...names: readonly string[]): unknown => names.map((name) => config[name]).find(isWritten);
  const exporter = choiceText(first("otel_traces_exporter", "tracing_provider"));
  if (exporter === undefined || exporter === "none") return {};
  if (exporter !== "otlp") {
    report("lost", "tracing_provider", `${quote(exporter)}: spans go to an OTLP endpoint (tracing.endpoint)`);
    return {};
  }
  const endpoint = endpointOf(first);
  const protocol = choiceText(
    first("otel_exporter_otlp_traces_protocol", "otel_exporter_otlp_protocol", "tracing_otlp_protocol"),
  );
  if (endpoint === undefined || protocol === "grpc" || /:4317\b/.test(endpoint)) {
    report("lost", "tracing", "spans are sent over HTTP, not gRPC: set tracing.endpoint to the HTTP address");
    return {};
  }
  const rate = Number(first("otel_traces_sampler_arg", "tracing_sample_rate") ?? 1);
  if (!(rate > 0)) return {};
  const oneIn = Math.max(1, Math.round(1 / rate));
  const headers = headersOf(first("otel_exporter_otlp_traces_headers", "otel_exporter_otlp_headers"), report);
  return {
    tracing: {
      endpoint,
      ...(oneIn > 1 && { sample_one_in: oneIn }),
      ...(Object.keys(headers).length > 0 && { headers }),
    },
  };
}

/** The general addresses are bases, to which the signal's name is appended. */
function endpointOf(first: (...names: readonly string[]) => unknown): string | undefined {
  const whole = first("otel_exporter_otlp_traces_endpoint");
  if (typeof whole === "string") return whole;
  const base = first("otel_exporter_otlp_endpoint", "tracing_otlp_endpoint");
  return typeof base === "string" ? `${base.replace(/\/+$/, "")}/v1/traces` : undefined;
}

/** `["name=value"]` or `"name=value,name=value"`; the values are credentials more often than not. */
function headersOf(written: unknown, report: ImportReport): Members {
  const pairs: readonly unknown[] = Array.isArray(written)
    ? written
    : typeof written === "string"
      ? written.split(",")
      : [];
  return Object.fromEntries(
    pairs.map((pair) => {
      const name = (String(pair).split("=")[0] ?? "").trim();
      return [name, secretVariable("value", `tracing header ${name}`, report, "the header's value")];
    }),
  );
}
