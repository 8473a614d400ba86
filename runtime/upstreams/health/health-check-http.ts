/** A health check by an HTTP request, over the transport of users' requests. Only the status of the response counts. */
import type { HttpProbe } from "../../features/balancing/compiled.ts";
import type { Upstream } from "../../features/connection/compiled.ts";
import type { Transport, UpstreamCall } from "../transport-types.ts";
import type { CheckDone } from "./check-budget.ts";

/** Most bytes of a response that are read. */
const MAX_BODY_BYTES = 65_536;

/** @returns cancels the check */
export function checkHttp(
  { transport, timeoutMs }: { readonly transport: Transport; readonly timeoutMs: number },
  upstream: Upstream,
  { path, host, statuses }: HttpProbe,
  over: CheckDone,
): () => void {
  let bytes = 0;
  const call: UpstreamCall = transport.send(
    {
      upstream,
      method: "GET",
      path,
      headers: ["host", host ?? upstream.host, "user-agent", "gateway-health-check", "accept", "*/*"],
      body: undefined,
      headTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs,
    },
    {
      onHead: (status) =>
        over(
          statuses.some(({ start, end }) => status >= start && status < end) ? "" : `the answer has status ${status}`,
        ),
      onData: (chunk) => {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES) call.abort();
      },
      onEnd: () => {},
      onFailure: (failure, detail) => over(`${failure}: ${detail}`),
    },
  );
  return () => call.abort();
}
