/** The sender for a kind of target. */
import { hostname } from "node:os";

import type { RecordSinkOptions } from "../sink.ts";
import type { Sender } from "../sender.ts";
import { createHttpSender } from "./http-sender.ts";
import { createSyslogSender } from "./syslog-sender.ts";

export function createSender(
  { target, tls, timeoutMs, serviceName, version }: RecordSinkOptions,
  quietMs: number | undefined,
): Sender {
  if (target.kind === "syslog") {
    const identity = { hostname: hostname(), appName: serviceName, pid: process.pid };
    return createSyslogSender({ target, tls, timeoutMs, identity, ...(quietMs !== undefined && { quietMs }) });
  }
  return createHttpSender({ target, tls, timeoutMs, serviceName, version });
}
