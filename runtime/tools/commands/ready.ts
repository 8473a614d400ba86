/** `gateway ready`: checks whether a running gateway serves; for health checks that can only run commands. */
import { readFile } from "node:fs/promises";
import { get } from "node:http";
import { get as secureGet } from "node:https";
import type { Socket } from "node:net";

import { errorText } from "../../shared/errors.ts";
import { foreignLines } from "../../shared/json/foreign-text.ts";
import { DEFAULT_ADMIN_ADDRESS } from "../../features/listener/settings.ts";
import { parseListener } from "../../settings/values.ts";

const ANSWER_WITHIN_MS = 5_000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** Limit for the state that a gateway reports. */
const MAX_SHOWN = 4_000;

export interface ReadyResult {
  readonly ok: boolean;
  /** The gateway's response, or why it cannot be reached. */
  readonly text: string;
}

export interface ReadyOptions {
  /** PEM file of the authorities for the gateway's certificate. Default: the system's. */
  readonly ca?: string;
  /** Name in its certificate. Default: the host of the address. */
  readonly serverName?: string;
}

/**
 * @param address "host:port" of the admin listener, with "https://" if it has TLS, and otherwise "http://" or
 *   nothing; for a wildcard host, loopback is queried
 */
export async function askReadiness(
  address = DEFAULT_ADMIN_ADDRESS,
  { ca: caFile, serverName }: ReadyOptions = {},
  withinMs = ANSWER_WITHIN_MS,
): Promise<ReadyResult> {
  const isSecure = address.startsWith("https://");
  const listener = parseListener(address.replace(/^https?:\/\//, ""));
  if (!listener.ok) return { ok: false, text: `Cannot ask "${address}": it ${listener.problem}` };
  const { host, port } = listener.value;
  const hostname = host === "" || host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const failed = (error: unknown): ReadyResult => ({
    ok: false,
    text: `Cannot ask "${address}": ${errorText(error)}`,
  });
  let tls: object;
  try {
    tls = {
      ...(caFile !== undefined && { ca: await readFile(caFile) }),
      ...(serverName !== undefined && { servername: serverName }),
    };
  } catch (error) {
    return failed(error);
  }
  return new Promise((resolve) => {
    const fail = (error: unknown): void => resolve(failed(error));
    // For the whole request, not an idle timeout.
    const signal = AbortSignal.timeout(withinMs);
    const options = { host: hostname, port, path: "/readyz", agent: false, signal };
    const request = (isSecure ? secureGet : get)({ ...options, ...tls }, (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) request.destroy(new Error("its answer is too long"));
        else chunks.push(chunk);
      });
      answer.once("error", fail);
      answer.once("end", () => {
        const text = foreignLines(Buffer.concat(chunks).toString("utf8").trim(), MAX_SHOWN);
        resolve({ ok: answer.statusCode === 200, text });
      });
    });
    request.once("upgrade", (_, socket: Socket) => {
      socket.destroy();
      fail(new Error("it responds with 101, which no gateway does"));
    });
    request.once("error", (error) => fail(signal.aborted ? new Error(`no answer within ${withinMs / 1000} s`) : error));
  });
}
