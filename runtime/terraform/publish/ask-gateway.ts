/** One request to a gateway's admin address. No redirects: the token goes to the address that was configured alone. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";

import { UNKNOWN_CA } from "../../shared/net/unknown-ca.ts";
import { foreignLines, withoutSent } from "../../shared/json/foreign-text.ts";

/** What a gateway's certificate is validated by, and what is shown to it. PEM; {} = as the system has it. */
export interface GatewayTls {
  /** Authorities, instead of the usual ones. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface GatewayQuestion {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly timeoutMs: number;
  readonly tls?: GatewayTls | undefined;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The text as JSON, where it is an object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Word of the gateway for what is wrong; another server may say anything. */
  readonly error: string | undefined;
  /**
   * A text of the answer for people: bounded, printable, and without the token. Servers that are not gateways may answer
   * with what was sent, and what is printed stays in logs of pipelines. "" for what is not a text.
   */
  readonly said: (value: unknown) => string;
}

/** As large as a slice may be. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_SAID = 8_000;

/** Rejects with an error whose message says why there is no answer. */
export function askGateway({ method, url, headers, body, timeoutMs, tls }: GatewayQuestion): Promise<GatewayAnswer> {
  const send = url.startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const signal = AbortSignal.timeout(timeoutMs);
    const options = { ...tls, method, headers: { ...headers, ...length }, signal };
    const request = send(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) request.destroy(new Error("its answer is too long"));
        else chunks.push(chunk);
      });
      response.on("end", () => {
        const { statusCode: status = 0, headers: answered } = response;
        const text = Buffer.concat(chunks).toString("utf8");
        const { authorization = "" } = headers;
        const sent = [authorization.slice(authorization.indexOf(" ") + 1)];
        const said = (value: unknown): string =>
          typeof value === "string" ? foreignLines(withoutSent(value, sent), MAX_SAID) : "";
        resolve({ ...answerOf(status, answered, text), said });
      });
      response.on("error", (error) => reject(reasonOf(error, timeoutMs)));
    });
    request.on("upgrade", (response, socket: Socket) => {
      socket.destroy();
      reject(new Error(`it answers ${response.statusCode}, which no gateway does`));
    });
    request.on("error", (error) => reject(reasonOf(error, timeoutMs)));
    request.end(body);
  });
}

function answerOf(status: number, headers: IncomingHttpHeaders, text: string): Omit<GatewayAnswer, "said"> {
  const single = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  const body = parseObject(text);
  const error = typeof body?.["error"] === "string" ? body["error"] : undefined;
  return { status, headers: Object.fromEntries(single), text, body, error };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Words for what operators meet: Node's own messages are empty when a name has several addresses. */
function reasonOf(error: Error, timeoutMs: number): Error {
  const { code, name, message } = error as NodeJS.ErrnoException;
  const text =
    name === "AbortError" || name === "TimeoutError" ? `no answer within ${timeoutMs / 1000} s` : WORDS[code ?? ""];
  return new Error(text ?? (message === "" ? (code ?? "no connection") : message), { cause: error });
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens there (connection refused)",
  ECONNRESET: "the connection was cut before it answered",
  ENOTFOUND: "the name does not exist",
  EAI_AGAIN: "the name cannot be looked up at the moment",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "the machine cannot be reached",
  EPROTO: "no TLS connection could be made; does it speak https, and take this client certificate?",
  ...Object.fromEntries(
    [...UNKNOWN_CA].map((code) => [
      code,
      'its certificate is signed by nobody who is trusted here; is "ca" given, and right?',
    ]),
  ),
};
