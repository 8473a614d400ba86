/**
 * Batches to a syslog destination over TLS (RFC 5425): octet-counted RFC 5424 messages.
 *
 * Syslog has no response. So each batch has its own connection, which the gateway closes: a destination that then
 * closes its side properly has read everything. One that closes before, or aborts, gets all of it again. Written bytes
 * prove nothing: with TLS 1.3, a destination may reject the gateway's certificate only after all was written. So it
 * waits before closing.
 */
import { connect, type TLSSocket } from "node:tls";

import type { SinkTarget, SinkTls } from "../../features/records/compiled.ts";
import { formatSyslog, type SyslogIdentity } from "../formats/syslog.ts";
import type { Sender } from "../sender.ts";
import { failureText, reachableLookup, refuseForbidden, tlsOptions } from "./reachable.ts";

export interface SyslogSenderOptions {
  readonly target: Extract<SinkTarget, { readonly kind: "syslog" }>;
  readonly tls: SinkTls;
  readonly timeoutMs: number;
  readonly identity: SyslogIdentity;
  /** Minimum time for a destination to reject the connection by closing it. Default: 500. */
  readonly quietMs?: number;
}

/** Multiple of the handshake's duration, for distant destinations. */
const QUIET_HANDSHAKES = 4;

export function createSyslogSender({ target, tls, timeoutMs, identity, quietMs = 500 }: SyslogSenderOptions): Sender {
  const { host, port, structuredDataId } = target;
  const name = `${host}:${port}`;

  return {
    // A larger batch would not fit the time between two.
    maxRecords: 8_192,
    maxBytes: 4 << 20,
    async send(records, signal) {
      const frames = Buffer.concat(
        records.map(({ value }) => {
          const message = Buffer.from(formatSyslog(value, identity, structuredDataId));
          return Buffer.concat([Buffer.from(`${message.length} `), message]);
        }),
      );
      let socket: TLSSocket | undefined;
      const giveUp = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        refuseForbidden(host);
        const secure = await tlsOptions(host, tls);
        giveUp.throwIfAborted();
        socket = connect({ host, port, lookup: reachableLookup, ...secure });
        await deliver(socket, frames, quietMs, giveUp);
        return { outcome: "taken" };
      } catch (error) {
        const reason = giveUp.aborted ? `${name} did not accept it in time` : failureText(name, error);
        return { outcome: "away", reason };
      } finally {
        socket?.destroy();
      }
    },
    close() {},
  };
}

/** Resolves when the other side has closed after us. */
function deliver(socket: TLSSocket, bytes: Buffer, quietMs: number, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let isEnding = false;
    const abort = (): void => reject(new Error("time is up"));
    signal.addEventListener("abort", abort, { once: true });
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      const quiet = Math.max(quietMs, (performance.now() - began) * QUIET_HANDSHAKES);
      socket.write(bytes, () => {
        timer = setTimeout(() => setImmediate(end), quiet);
      });
    });
    // Received data is read in between.
    const end = (): void => {
      if (socket.readableEnded || socket.destroyed) return;
      isEnding = true;
      socket.end();
    };
    socket.on("end", () => {
      if (!isEnding) reject(new Error("the receiver closed the connection"));
    });
    socket.on("close", (hadError) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      if (isEnding && !hadError && socket.readableEnded) resolve();
      else reject(new Error("the connection was lost"));
    });
    // Its content does not matter; unread it would never end.
    socket.resume();
  });
}
