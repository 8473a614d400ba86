/** A receiver of traces and logs as OTLP over HTTP has it (JSON), which keeps what it gets. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedSpan {
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** 2 = error. */
  readonly status: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface ReceivedLog {
  readonly timeMs: number;
  /** 9 information, 13 warning, 17 error. */
  readonly severity: number;
  readonly eventName: string | undefined;
  readonly traceId: string | undefined;
  readonly body: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  /** "http://127.0.0.1:PORT/v1/traces" */
  readonly endpoint: string;
  /** "http://127.0.0.1:PORT/v1/logs" */
  readonly logsEndpoint: string;
  readonly logs: readonly ReceivedLog[];
  /** Response to the next logs with status 200. */
  logsAnswer: object;
  readonly spans: readonly ReceivedSpan[];
  /** service.name of each batch. */
  readonly services: readonly unknown[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** All bodies as they came. */
  text(): string;
  /** Response from now on; "hang": none. */
  answer: number | "hang";
  close(): Promise<void>;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly boolValue?: boolean;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly Value[] };
  readonly kvlistValue?: { readonly values?: readonly Attribute[] };
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}
interface Body {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly kind: number;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly status: { readonly code: number };
        readonly attributes: readonly Attribute[];
      }[];
    }[];
  }[];
}

interface LogsBody {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly timeUnixNano: string;
        readonly severityNumber: number;
        readonly eventName?: string;
        readonly traceId?: string;
        readonly body: Value;
        readonly attributes: readonly Attribute[];
      }[];
    }[];
  }[];
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const logs: ReceivedLog[] = [];
  const services: unknown[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let text = "";
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (receiver.answer === "hang") return;
      headers.push(request.headers);
      const isKnown = request.url === "/v1/traces" || request.url === "/v1/logs";
      if (receiver.answer !== 200 || !isKnown || request.method !== "POST") {
        response.writeHead(receiver.answer === 200 ? 404 : receiver.answer).end("the receiver repeats: Bearer secret");
        return;
      }
      const body = Buffer.concat(chunks).toString();
      text += body;
      if (request.url === "/v1/logs") {
        takeLogs(JSON.parse(body) as LogsBody);
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(receiver.logsAnswer));
        return;
      }
      for (const { resource, scopeSpans } of (JSON.parse(body) as Body).resourceSpans) {
        services.push(plain(resource.attributes)["service.name"]);
        for (const span of scopeSpans.flatMap((each) => each.spans)) {
          spans.push({
            name: span.name,
            kind: span.kind,
            traceId: span.traceId,
            spanId: span.spanId,
            parentSpanId: span.parentSpanId,
            status: span.status.code,
            startMs: Number(span.startTimeUnixNano) / 1e6,
            endMs: Number(span.endTimeUnixNano) / 1e6,
            attributes: plain(span.attributes),
          });
        }
      }
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const takeLogs = (body: LogsBody): void => {
    for (const { resource, scopeLogs } of body.resourceLogs) {
      services.push(plain(resource.attributes)["service.name"]);
      for (const record of scopeLogs.flatMap(({ logRecords }) => logRecords)) {
        logs.push({
          timeMs: Number(record.timeUnixNano) / 1e6,
          severity: record.severityNumber,
          eventName: record.eventName,
          traceId: record.traceId,
          body: plainValue(record.body),
          attributes: plain(record.attributes),
        });
      }
    }
  };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receiver: OtlpReceiver = {
    endpoint: `${origin}/v1/traces`,
    logsEndpoint: `${origin}/v1/logs`,
    logs,
    logsAnswer: {},
    spans,
    services,
    headers,
    text: () => text,
    answer: 200,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: Value): unknown {
  const { stringValue, intValue, boolValue, doubleValue, arrayValue, kvlistValue } = value;
  if (arrayValue) return (arrayValue.values ?? []).map(plainValue);
  if (kvlistValue) return plain(kvlistValue.values ?? []);
  if (Object.keys(value).length === 0) return null;
  return stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue));
}
