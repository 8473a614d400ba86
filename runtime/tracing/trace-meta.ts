/** The trace context that a message carries in `_meta`, for clients that cannot set headers. @see SEP-414 */
import { isRecord } from "../shared/is-record.ts";

export interface TraceMeta {
  /** As written; W3C Trace Context defines which parts are valid. */
  readonly traceparent: string;
  readonly tracestate: string;
}

const MENTION = Buffer.from("traceparent");

/** @param bytes of a validated message */
export function readTraceMeta(bytes: Buffer): TraceMeta | undefined {
  if (!bytes.includes(MENTION)) return undefined;
  const { params } = JSON.parse(bytes.toString("utf8")) as { readonly params?: unknown };
  const meta = isRecord(params) ? params["_meta"] : undefined;
  if (!isRecord(meta)) return undefined;
  const { traceparent, tracestate } = meta;
  if (typeof traceparent !== "string") return undefined;
  return { traceparent, tracestate: typeof tracestate === "string" ? tracestate : "" };
}
