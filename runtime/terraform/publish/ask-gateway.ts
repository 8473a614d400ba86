/** One request to a gateway's admin address. No redirects: the token goes only to the configured address. */
import { parseObject } from "../../shared/is-record.ts";
import { type AnswerHead, type BoundedAnswer, requestOnce } from "../../shared/net/bounded-request.ts";
import { UNKNOWN_CA } from "../../shared/net/unknown-ca.ts";
import { foreignLines, withoutSent } from "../../shared/json/foreign-text.ts";

/** Trust and client certificate for a gateway. PEM; {} = the system's defaults. */
export interface GatewayTls {
  /** Authorities, instead of the default ones. */
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
  /** The text as JSON, if it is an object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** The gateway's error code; another server may send anything. */
  readonly error: string | undefined;
  /**
   * A text of the response for users: bounded, printable, and without the token. Servers that are not gateways may echo the
   * request, and output stays in logs of pipelines. "" for a value that is not a text.
   */
  readonly said: (value: unknown) => string;
}

/** Maximum size of a slice. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_SAID = 8_000;

/** Rejects with an error whose message says why there is no response. */
export async function askGateway({ url, timeoutMs, tls, ...asked }: GatewayQuestion): Promise<GatewayAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const request = { ...asked, url: new URL(url), maxBytes: MAX_ANSWER_BYTES, signal };
  const answer = await requestOnce({ ...tls, timeoutMs, mayUseProxies: true }, request);
  if (!answer.ok) throw new Error(reasonOf(answer, timeoutMs), { cause: answer.error });
  const { authorization = "" } = asked.headers;
  const sent = [authorization.slice(authorization.indexOf(" ") + 1)];
  const said = (value: unknown): string =>
    typeof value === "string" ? foreignLines(withoutSent(value, sent), MAX_SAID) : "";
  return { ...answerOf(answer.head, answer.body.toString("utf8")), said };
}

function answerOf(head: AnswerHead, text: string): Omit<GatewayAnswer, "said"> {
  const body = parseObject(text);
  const error = typeof body?.["error"] === "string" ? body["error"] : undefined;
  return { ...head, text, body, error };
}

/** Texts for common network errors: Node's own messages are empty when a name has several addresses. */
function reasonOf({ reason, problem, head, error }: Extract<BoundedAnswer, { ok: false }>, timeoutMs: number): string {
  if (reason === "timeout") return `no answer within ${timeoutMs / 1000} s`;
  if (reason === "status") return `it answers ${head?.status}, which no gateway does`;
  if (reason === "too-large") return "its answer is too long";
  if (reason === "content-coding") return `it ${problem}`;
  const { code = "no connection", message } = error as NodeJS.ErrnoException;
  return WORDS[code] ?? (message === "" ? code : message);
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there (connection refused)",
  ECONNRESET: "the connection was cut before it answered",
  UND_ERR_SOCKET: "the connection was cut before it answered",
  ENOTFOUND: "the name does not exist",
  EAI_AGAIN: "the name cannot be looked up at the moment",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "the machine cannot be reached",
  EPROTO: "no TLS connection could be made; does it speak https, and take this client certificate?",
  ...Object.fromEntries(
    [...UNKNOWN_CA].map((code) => [code, 'its certificate is not signed by a trusted CA; check "ca"']),
  ),
};
