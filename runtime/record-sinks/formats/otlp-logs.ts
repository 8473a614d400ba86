/**
 * Records as OpenTelemetry logs in the JSON form of OTLP: the body is the record, and the attributes are the values to
 * search for. Their names follow the semantic conventions if possible, and are `gateform.…` otherwise.
 *
 * @see OTLP 1.x, "JSON Protobuf Encoding"; opentelemetry.proto.logs.v1
 */
import { CHECK_MESSAGE } from "../../audit/log-line.ts";
import type { SpooledRecord } from "../sender.ts";
import { type RecordValue, textOf, verdictOf } from "./fields.ts";

/** Prefix for records of other kinds than requests: their names differ by message. */
const EVENT_PREFIX = "gateform.";
const SEVERITY: Readonly<Record<string, { readonly number: number; readonly text: string }>> = {
  info: { number: 9, text: "INFO" },
  warn: { number: 13, text: "WARN" },
  error: { number: 17, text: "ERROR" },
};
const MAX_DEPTH = 16;

/** Our fields → attributes. */
const ATTRIBUTES: readonly (readonly [field: string, attribute: string])[] = [
  ["user", "user.id"],
  ["email", "user.email"],
  ["ip", "client.address"],
  ["method", "http.request.method"],
  ["path", "url.path"],
  ["host", "server.address"],
  ["status", "http.response.status_code"],
  ["session-id", "session.id"],
  ["mcp-method", "mcp.method.name"],
  ["mcp-tool", "gen_ai.tool.name"],
  ["failure", "error.type"],
  ["request-id", "gateform.request_id"],
  ["route", "gateform.route"],
  ["client-id", "gateform.client_id"],
  ["auth-method", "gateform.auth_method"],
  ["rule", "gateform.rule"],
  ["action", "gateform.action"],
  ["instance", "gateform.instance"],
  ["seq", "gateform.seq"],
];

export interface OtlpResource {
  readonly serviceName: string;
  readonly version: string;
}

export function formatOtlpLogs(records: readonly SpooledRecord[], { serviceName, version }: OtlpResource): string {
  const resource = [attribute("service.name", serviceName), attribute("service.version", version)];
  const scope = { name: "gateform", version };
  const logRecords = records.map(({ value }) => logRecord(value));
  return JSON.stringify({
    resourceLogs: [{ resource: { attributes: resource }, scopeLogs: [{ scope, logRecords }] }],
  });
}

function logRecord(record: RecordValue): object {
  const message = textOf(record, "message") ?? "record";
  const time = Date.parse(textOf(record, "time") ?? "");
  const trace = textOf(record, "trace-id");
  const level = SEVERITY[textOf(record, "level") ?? "info"] ?? { number: 9, text: "INFO" };
  const nanos = Number.isNaN(time) ? "0" : `${time}000000`;
  return {
    timeUnixNano: nanos,
    observedTimeUnixNano: nanos,
    severityNumber: level.number,
    severityText: level.text,
    eventName: EVENT_PREFIX + message.replaceAll(/[^a-z0-9]+/gi, "_"),
    body: valueOf(record, 0),
    attributes: attributesOf(record, message),
    ...(trace !== undefined && /^[0-9a-f]{32}$/.test(trace) && { traceId: trace }),
  };
}

function attributesOf(record: RecordValue, message: string): object[] {
  const known = ATTRIBUTES.flatMap(([field, name]) => {
    const value = record[field];
    return (typeof value === "string" && value !== "") || typeof value === "number" ? [attribute(name, value)] : [];
  });
  if (message !== CHECK_MESSAGE) return known;
  const { passes, reasons } = verdictOf(record);
  if (record["mcp-method"] === "tools/call") known.push(attribute("gen_ai.operation.name", "execute_tool"));
  return [...known, attribute("gateform.allowed", passes), attribute("gateform.reasons", reasons)];
}

function attribute(key: string, value: unknown): object {
  return { key, value: valueOf(value, 0) };
}

/** An `AnyValue`. 64-bit numbers are texts in this form. */
function valueOf(value: unknown, depth: number): object {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "number":
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
    case "object": {
      if (value === null) return {};
      // Tools' arguments may have any depth, and destinations reject values that are nested too deeply for them.
      if (depth >= MAX_DEPTH) return { stringValue: JSON.stringify(value) };
      if (Array.isArray(value)) return { arrayValue: { values: value.map((each) => valueOf(each, depth + 1)) } };
      const values = Object.entries(value).map(([key, each]) => ({ key, value: valueOf(each, depth + 1) }));
      return { kvlistValue: { values } };
    }
    default:
      return {};
  }
}
