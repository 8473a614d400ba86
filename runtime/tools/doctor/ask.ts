/**
 * One request as a client would send it, and its response.
 *
 * Trusted input: the address that the operator gave. Untrusted input: all responses, including addresses in them. These
 * are requested without credentials, of which this process has none.
 */
import { errorText } from "../../shared/errors.ts";
import { createOperatorFetch, type OperatorFetch } from "../../http/fetch/operator-fetch.ts";
import { parseObject } from "../../shared/is-record.ts";

export interface DoctorQuestion {
  readonly method?: "GET" | "POST" | "OPTIONS";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface DoctorAnswer {
  readonly url: string;
  /** 0 without a response; `failure` then has the reason. */
  readonly status: number;
  readonly failure: string | undefined;
  header(name: string): string | undefined;
  /** The body as a JSON object; undefined for any other body. */
  json(): JsonObject | undefined;
  readonly text: string;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export type Ask = (question: DoctorQuestion) => Promise<DoctorAnswer>;

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 256 * 1024;

/** Sends each different request once, so that sequences with the same start do not repeat it. */
export function createAsk(
  fetch: OperatorFetch = createOperatorFetch({ timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, returnsRedirects: true }),
): Ask {
  const responses = new Map<string, Promise<DoctorAnswer>>();
  return (question) => {
    const key = JSON.stringify([question.method, question.url, question.headers, question.body]);
    const known = responses.get(key) ?? send(fetch, question);
    responses.set(key, known);
    return known;
  };
}

async function send(fetch: OperatorFetch, question: DoctorQuestion): Promise<DoctorAnswer> {
  const { url, method = "GET", headers = {}, body } = question;
  try {
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    return {
      url,
      status: response.status,
      failure: undefined,
      header: (name) => response.headers.get(name) ?? undefined,
      json: () => parseObject(text),
      text,
    };
  } catch (error) {
    // Also handles invalid addresses, which come from the server's responses.
    return { url, status: 0, failure: errorText(error), header: () => undefined, json: () => undefined, text: "" };
  }
}
