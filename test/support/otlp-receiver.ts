/** A receiver of traces as OTLP over HTTP has it (JSON), which keeps what it gets. */
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

export interface OtlpReceiver {
  /** "http://127.0.0.1:PORT/v1/traces" */
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** service.name of each batch. */
  readonly services: readonly unknown[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** All bodies as they came. */
  text(): string;
  /** What is answered from now on; "hang": nothing. */
  answer: number | "hang";
  close(): Promise<void>;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values?: readonly Value[] };
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

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const services: unknown[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let text = "";
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (receiver.answer === "hang") return;
      headers.push(request.headers);
      if (receiver.answer !== 200 || request.url !== "/v1/traces" || request.method !== "POST") {
        response.writeHead(receiver.answer === 200 ? 404 : receiver.answer).end("the receiver repeats: Bearer secret");
        return;
      }
      const body = Buffer.concat(chunks).toString();
      text += body;
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
  const receiver: OtlpReceiver = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
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

function plainValue({ stringValue, intValue, boolValue, arrayValue }: Value): unknown {
  if (arrayValue) return (arrayValue.values ?? []).map(plainValue);
  return stringValue ?? boolValue ?? (intValue === undefined ? undefined : Number(intValue));
}
