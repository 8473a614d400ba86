/** The load of load.ts over HTTP/2 and TLS: a few connections with several requests in flight each. */
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from "node:http2";

import type { LoadResult } from "./load.ts";
import { percentiles } from "./table.ts";

export interface Http2LoadOptions {
  readonly port: number;
  readonly path: string;
  /** At once. */
  readonly requests: number;
  readonly durationMs: number;
  /** Lower case. */
  readonly headers?: OutgoingHttpHeaders;
}

const STREAMS_PER_SESSION = 8;

/** As many requests at once as the others have connections, on fewer connections. */
export async function loadHttp2({
  port,
  path,
  requests,
  durationMs,
  headers = {},
}: Http2LoadOptions): Promise<LoadResult> {
  const started = performance.now();
  const end = started + durationMs;
  const micros: number[] = [];
  let errors = 0;
  const sessions = Array.from({ length: Math.max(1, requests / STREAMS_PER_SESSION) }, () =>
    connect(`https://127.0.0.1:${port}`, { servername: "localhost", rejectUnauthorized: false }),
  );
  // Each of its requests fails then, and counts.
  for (const session of sessions) session.on("error", () => {});
  const one = (session: ClientHttp2Session): Promise<boolean> =>
    new Promise((resolve) => {
      if (session.destroyed) return resolve(false);
      const stream = session.request({
        ":path": path,
        ":authority": `localhost:${port}`,
        accept: "application/json",
        ...headers,
      });
      let status = 0;
      stream.on("response", (answer) => (status = answer[":status"] ?? 0));
      stream.on("error", () => resolve(false));
      stream.on("close", () => resolve(status === 200));
      stream.resume();
    });
  await Promise.all(
    sessions.flatMap((session) =>
      Array.from({ length: STREAMS_PER_SESSION }, async () => {
        while (performance.now() < end) {
          const sentAt = performance.now();
          if (await one(session)) micros.push((performance.now() - sentAt) * 1000);
          else errors += 1;
          // What is destroyed does not come back.
          if (session.destroyed) return;
        }
      }),
    ),
  );
  for (const session of sessions) session.close();
  return { requests: micros.length, errors, seconds: (performance.now() - started) / 1000, ...percentiles(micros) };
}
