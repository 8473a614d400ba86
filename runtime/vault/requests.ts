/**
 * One request to a Vault or OpenBao server, and the meaning of its response.
 *
 * Untrusted input: the response. Promises: bounded in time and size; a standby's redirect (307) is followed only to the
 * same path over the same scheme, since the request carries a token. Messages name the server and the expectation, and
 * nothing of the response except its status and known sentences (a rejected login: see login.ts).
 */
import { readFileSync } from "node:fs";

import type { VaultSettings } from "../features/process/vault.ts";
import { ignore } from "../shared/ignore.ts";
import { unknownCaCode } from "../shared/net/unknown-ca.ts";
import { openRequests, type Requests } from "../shared/net/bounded-request.ts";
import { errorText } from "../shared/errors.ts";
import { isRecord, type Members } from "../shared/is-record.ts";
import { isTlsOrLoopback } from "../settings/values.ts";

export interface VaultRequest {
  readonly method: "GET" | "POST";
  /** Below `/v1/`, encoded. */
  readonly path: string;
  readonly token?: string;
  readonly body?: Members;
}

export type VaultAnswer =
  /** Whatever the status, the server is running and unsealed. `body` is {} if there is none. */
  | { readonly ok: true; readonly status: number; readonly body: Members }
  /** The server is unavailable; with `isAnswered`, only for this path. */
  | { readonly ok: false; readonly failure: string; readonly isAnswered?: true };

export interface VaultRequests {
  ask(request: VaultRequest): Promise<VaultAnswer>;
  close(): Promise<void>;
}

export const TIMEOUT_MS = 5_000;
/** An entry has at most 1 MiB unless the server is configured otherwise. */
const MAX_BYTES = 2 * 1024 * 1024;
const CONNECTIONS = 8;
/** From a standby to the active one, and once more while they change. */
const MAX_REDIRECTS = 2;

export interface RequestTimes {
  readonly timeoutMs?: number;
}

export function createVaultRequests(
  { origin, namespace, caFile }: Pick<VaultSettings, "origin" | "namespace" | "caFile">,
  { timeoutMs = TIMEOUT_MS }: RequestTimes = {},
): VaultRequests {
  const { host } = new URL(origin);
  let requests: Requests | undefined;
  const failed: Failed = (problem, isAnswered = false) => ({
    ok: false,
    failure: `the server "${host}" ${problem}`,
    ...(isAnswered && { isAnswered }),
  });

  return {
    async ask({ method, path, token, body }) {
      let used: Requests;
      try {
        used = requests ??= open();
      } catch (error) {
        return { ok: false, failure: `"vault.ca_file" cannot be read: ${errorText(error)}` };
      }
      const headers = {
        "x-vault-request": "true",
        accept: "application/json",
        ...(namespace !== undefined && { "x-vault-namespace": namespace }),
        ...(token !== undefined && { "x-vault-token": token }),
        ...(body && { "content-type": "application/json" }),
      };
      const options = { method, headers, body: body && JSON.stringify(body), maxBytes: MAX_BYTES };
      let url = new URL(`/v1/${path}`, origin);
      for (let redirects = 0; ; redirects++) {
        const answer = await used({ ...options, url, signal: AbortSignal.timeout(timeoutMs) });
        if (!answer.ok) {
          retire(used);
          const { reason, problem } = answer;
          if (reason === "timeout") return failed(`did not answer within ${timeoutMs / 1000} s`);
          const hint =
            unknownCaCode(answer.error) === undefined ? "" : `; name the PEM file of its CA in "vault.ca_file"`;
          return failed(problem + hint, reason !== "unreachable");
        }
        const { status, headers: answered } = answer.head;
        if (status < 300 || status > 399) return readAnswer(status, answer.body, failed);
        const next = redirects < MAX_REDIRECTS ? redirectTarget(status, answered["location"], url) : undefined;
        if (!next) return failed(`redirects (${status}) where it must not: ${REDIRECT_EXPECTED}`, true);
        url = next;
      }
    },
    async close() {
      await requests?.close();
    },
  };

  /** The file of authorities may have changed by the next request. */
  function retire(used: Requests): void {
    if (caFile === undefined || requests !== used) return;
    requests = undefined;
    used.retire().catch(ignore);
  }

  function open(): Requests {
    const ca = caFile === undefined ? undefined : readFileSync(caFile, "utf8");
    return openRequests({ ca, timeoutMs, kept: CONNECTIONS });
  }
}

const REDIRECT_EXPECTED = "a standby must answer itself, or 307 to the same path over the same scheme";

/** Target of a standby's redirect; undefined when it is not followed. */
function redirectTarget(status: number, location: string | undefined, from: URL): URL | undefined {
  if ((status !== 307 && status !== 308) || location === undefined || !URL.canParse(location, from.href))
    return undefined;
  const to = new URL(location, from);
  const isSame = to.protocol === from.protocol && to.pathname === from.pathname && to.search === from.search;
  const isBare = to.username === "" && to.password === "";
  const isSafe = isTlsOrLoopback(to);
  return isSame && isBare && isSafe ? to : undefined;
}

type Failed = (problem: string, isAnswered?: boolean) => VaultAnswer;

function readAnswer(status: number, bytes: Buffer, failed: Failed): VaultAnswer {
  const body = parseBody(bytes);
  // @see HTTP status codes of the API: 503 down for maintenance or sealed, 429 over a quota, 412 not yet replicated
  if (status === 503) return failed(`is sealed, or cannot serve now (503), must be unsealed`);
  if (status === 429) return failed("has exceeded its request quota (429)", true);
  if (status >= 500 || status === 412) return failed(`cannot serve now (${status})`, true);
  if (!body) return failed(`answered ${status} with something other than a JSON object`, true);
  return { ok: true, status, body };
}

function parseBody(bytes: Buffer): Members | undefined {
  if (bytes.length === 0) return {};
  try {
    const body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
    return isRecord(body) ? body : undefined;
  } catch {
    return undefined;
  }
}
