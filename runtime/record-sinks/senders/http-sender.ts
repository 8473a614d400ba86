/** Batches over HTTP: records or OCSF events, one per line, or OTLP logs. */
import type { SinkTarget, SinkTls } from "../../features/records/compiled.ts";
import { isRecord } from "../../shared/is-record.ts";
import { formatOcsf } from "../formats/ocsf.ts";
import { formatOtlpLogs } from "../formats/otlp-logs.ts";
import type { Sender, SendResult, SpooledRecord } from "../sender.ts";
import { createPoster, type Posted } from "./http-post.ts";

export interface HttpSenderOptions {
  readonly target: Exclude<SinkTarget, { readonly kind: "syslog" }>;
  readonly tls: SinkTls;
  readonly timeoutMs: number;
  readonly serviceName: string;
  readonly version: string;
}

/** Statuses that blame the batch, not the connection to the destination: a smaller batch may be accepted. */
const OF_THE_BATCH: ReadonlySet<number> = new Set([400, 413, 415, 422]);

export function createHttpSender({ target, tls, timeoutMs, serviceName, version }: HttpSenderOptions): Sender {
  const contentType = target.kind === "otlp" ? "application/json" : "application/x-ndjson";
  const poster = createPoster({
    url: target.url,
    headers: {
      "user-agent": `gateform/${version}`,
      ...Object.fromEntries(target.headers),
      "content-type": contentType,
    },
    tls,
    timeoutMs,
  });
  const bodyOf = (records: readonly SpooledRecord[]): string => {
    if (target.kind === "otlp") return formatOtlpLogs(records, { serviceName, version });
    if (target.format === "ndjson") return records.map(({ text }) => `${text}\n`).join("");
    return records.map(({ value }) => `${JSON.stringify(formatOcsf(value, version))}\n`).join("");
  };
  return {
    maxRecords: 512,
    maxBytes: 1 << 20,
    async send(records, signal) {
      const answer = await poster.post(bodyOf(records), signal);
      if (typeof answer === "string") return { outcome: "away", reason: answer };
      return resultOf(answer, target.kind === "otlp");
    },
    close: () => poster.close(),
  };
}

function resultOf({ status, retryAfterMs, body }: Posted, isOtlp: boolean): SendResult {
  const reason = `it answered ${status}`;
  if (status >= 200 && status < 300) {
    const rejected = isOtlp ? rejectedOf(body) : 0;
    return rejected === 0 ? { outcome: "taken" } : { outcome: "taken", rejected };
  }
  if (OF_THE_BATCH.has(status)) return { outcome: "refused", reason };
  return { outcome: "away", reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** OTLP 1.x, "Partial Success": rejected records must not be sent again. */
function rejectedOf(body: string): number {
  try {
    const value: unknown = JSON.parse(body);
    const partial = isRecord(value) ? value["partialSuccess"] : undefined;
    const rejected = isRecord(partial) ? Number(partial["rejectedLogRecords"] ?? 0) : 0;
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}
