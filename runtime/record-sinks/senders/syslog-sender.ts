/**
 * Batches to a syslog receiver over TLS (RFC 5425): octet-counted RFC 5424 messages.
 *
 * Syslog has no answer. So each batch has a connection of its own, which we end: a receiver that then ends its side in order
 * has read to the end. One that closes before, or breaks off, gets all of it again.
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
}

export function createSyslogSender({ target, tls, timeoutMs, identity }: SyslogSenderOptions): Sender {
  const { host, port, structuredDataId } = target;
  const name = `${host}:${port}`;

  return {
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
        await deliver(socket, frames, giveUp);
        return { outcome: "taken" };
      } catch (error) {
        const reason = giveUp.aborted ? `${name} did not take it in time` : failureText(name, error);
        return { outcome: "away", reason };
      } finally {
        socket?.destroy();
      }
    },
    close() {},
  };
}

/** Resolves when the other side has ended after us. */
function deliver(socket: TLSSocket, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let isSent = false;
    const abort = (): void => reject(new Error("time is up"));
    signal.addEventListener("abort", abort, { once: true });
    socket.on("error", reject);
    socket.once("secureConnect", () => socket.end(bytes, () => (isSent = true)));
    socket.on("end", () => {
      if (!isSent) reject(new Error(`${socket.remoteAddress ?? "it"} closed the connection before the end`));
    });
    socket.on("close", (hadError) => {
      signal.removeEventListener("abort", abort);
      if (isSent && !hadError && socket.readableEnded) resolve();
      else reject(new Error("the connection broke off"));
    });
    // What it says is nothing to us; unread it would never end.
    socket.resume();
  });
}
