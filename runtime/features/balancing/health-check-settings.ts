/** Settings of a route's health checks. */
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { block, blockList } from "../../settings/types/block.ts";
import { count, duration, text } from "../../settings/types/scalar.ts";
import type { DocOf } from "../../settings/types/registry.ts";
import { errorAt, type UnplacedProblem, type Report } from "../../settings/problem.ts";
import { parseHostHeader, parseRoutePath } from "../../settings/values.ts";

/** More would burden each upstream constantly. */
const MAX_CHECKS = 5;
const MAX_PAYLOAD_BYTES = 1_024;
const MAX_PAYLOADS = 16;

const hostHeader = (value: string): string | undefined =>
  quotedProblem(value, parseHostHeader(value) === undefined ? 'must be "host" or "host:port"' : undefined);

const httpHealthCheck = block(
  {
    path: text({
      doc: "Path of the GET request, from the root of the upstream.",
      required: true,
      check: readable(parseRoutePath),
    }),
    host: text({ doc: "Host header.", unset: "the host of `to`", check: hostHeader }),
    expected_statuses: blockList(
      {
        start: count({ doc: "First expected status.", required: true, min: 100, max: 599 }),
        end: count({ doc: "First status after the range.", required: true, min: 101, max: 600 }),
      },
      { doc: "Ranges of healthy statuses.", unset: "`200`" },
    ),
  },
  {
    doc: "HTTP check: healthy if the response has an expected status.",
    unset: "required unless another check is set",
  },
);

/** Not named "text": in Envoy's configuration, "text" has hexadecimal digits. */
const payload = {
  hex: text({
    doc: 'Bytes in hexadecimal, such as "50494e470d0a".',
    unset: "required unless `utf8` is set",
    check: (value) =>
      quotedProblem(value, /^(?:[0-9a-f]{2})+$/i.test(value) ? undefined : "must be pairs of hexadecimal digits"),
  }),
  utf8: text({
    doc: 'Bytes as text, such as "PING\\r\\n".',
    unset: "required unless `hex` is set",
    check: (value) => (value === "" ? "is empty, must be text" : undefined),
  }),
};

const payloadSchema = block(payload, {
  doc: "Bytes to send after connecting. Not for secrets: configuration and state show them.",
  unset: "none",
});
const payloadList = blockList(payload, {
  doc: "Bytes to expect, in this order, within the first 65,536 bytes.",
  unset: "none",
});

const tcpHealthCheck = block(
  { send: payloadSchema, receive: payloadList },
  {
    doc: "TCP check: healthy if a connection opens and the expected bytes arrive.",
    unset: "required unless another check is set",
  },
);

const grpcHealthCheck = block(
  {
    service_name: text({
      doc: "Service to check.",
      unset: "the whole server",
      check: (value) => (value.length > 256 ? `has ${value.length} characters, must have at most 256` : undefined),
    }),
    authority: text({ doc: "The `:authority` header.", unset: "the host of `to`", check: hostHeader }),
  },
  {
    doc: "Check with gRPC: healthy if `grpc.health.v1.Health/Check` returns SERVING.",
    unset: "required unless another check is set",
  },
);

export const healthCheckShape = {
  interval: duration({ doc: "Time between checks.", default: "10s", minMs: 100 }),
  timeout: duration({ doc: "Maximum duration of a check.", default: "5s", minMs: 10 }),
  unhealthy_threshold: count({
    doc: "Consecutive failures before an upstream is unhealthy.",
    default: 3,
    min: 1,
    max: 100,
  }),
  healthy_threshold: count({
    doc: "Consecutive successes before it is healthy again.",
    default: 2,
    min: 1,
    max: 100,
  }),
  http_health_check: httpHealthCheck,
  tcp_health_check: tcpHealthCheck,
  grpc_health_check: grpcHealthCheck,
};

export const healthChecks = blockList(healthCheckShape, {
  doc: "Active health checks. All must pass.",
  unset: "none",
  annotation: "health_checks",
});

type HealthCheckDoc = DocOf<typeof healthChecks> extends readonly (infer Item)[] | undefined ? Item : never;
type PayloadDoc = NonNullable<NonNullable<HealthCheckDoc["tcp_health_check"]>["send"]>;

const KINDS = ["http_health_check", "tcp_health_check", "grpc_health_check"] as const;

export function healthCheckRules(checks: readonly HealthCheckDoc[], report: Report): void {
  if (checks.length > MAX_CHECKS)
    report(errorAt(["health_checks"], `has ${checks.length} checks, must have at most ${MAX_CHECKS}`));
  for (const [index, check] of checks.entries()) {
    const path = ["health_checks", index];
    const [first, ...more] = KINDS.filter((kind) => check[kind] !== undefined);
    if (first === undefined)
      report(errorAt(path, 'must have "http_health_check", "tcp_health_check" or "grpc_health_check"'));
    for (const other of more) report(errorAt([...path, other], `cannot be combined with "${first}"`));
    for (const [at, { start, end }] of (check.http_health_check?.expected_statuses ?? []).entries()) {
      if (start >= end)
        report(
          errorAt(
            [...path, "http_health_check", "expected_statuses", at, "end"],
            `is ${end}, must be above "start", which is ${start}`,
          ),
        );
    }
    tcpRules(check, [...path, "tcp_health_check"], report);
  }
}

function tcpRules({ tcp_health_check: tcp }: HealthCheckDoc, path: UnplacedProblem["path"], report: Report): void {
  const { send, receive = [] } = tcp ?? {};
  if (send && receive.length === 0)
    report(errorAt([...path, "send"], 'requires "receive": without a response it checks nothing'));
  if (receive.length > MAX_PAYLOADS)
    report(errorAt([...path, "receive"], `has ${receive.length} parts, must have at most ${MAX_PAYLOADS}`));
  if (send) payloadRules(send, [...path, "send"], report);
  for (const [at, each] of receive.entries()) payloadRules(each, [...path, "receive", at], report);
}

function payloadRules(doc: PayloadDoc, path: UnplacedProblem["path"], report: Report): void {
  if (doc.hex === undefined && doc.utf8 === undefined) report(errorAt(path, 'must have "hex" or "utf8"'));
  if (doc.hex !== undefined && doc.utf8 !== undefined)
    report(errorAt([...path, "utf8"], 'cannot be combined with "hex"'));
  const bytes = payloadHex(doc).length / 2;
  if (bytes > MAX_PAYLOAD_BYTES) report(errorAt(path, `has ${bytes} bytes, must have at most ${MAX_PAYLOAD_BYTES}`));
}

/** The bytes in hexadecimal digits. */
export function payloadHex({ hex, utf8 }: PayloadDoc): string {
  return hex ?? Buffer.from(utf8 ?? "").toString("hex");
}
