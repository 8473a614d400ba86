/**
 * Publishes to a running gateway: its admin address accepts the slice, validates it with everything else, and responds when
 * it is active in every process. A gateway that rejects it keeps its configuration, so nothing is ever half published.
 *
 * Untrusted: the responses, which are bounded and read as data. The token is read when it is needed and never repeated.
 *
 * @see RFC 9110 §13.1 for If-Match and If-None-Match
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { TERRAFORM_PROGRAM, userAgentOf } from "../../shared/version.ts";
import { askGateway, type GatewayAnswer, type GatewayTls } from "./ask-gateway.ts";
import {
  type KnownText,
  readClaimText,
  readSliceText,
  type Published,
  type PublishTarget,
  type ResponseProblem,
} from "./publish.ts";

export interface HttpTargetOptions {
  /** URL of the admin listener, or of a proxy in front of it. */
  readonly url: string;
  readonly owner: string;
  /** @throws GatewayError `publish.token` */
  readonly token: () => Promise<string>;
  /** Default: the system's settings. @throws GatewayError `publish.tls` */
  readonly tls?: () => Promise<GatewayTls>;
}

/** The gateway validated the slice and rejected it. Code `publish.refused`. */
export class PublishRefusal extends GatewayError {
  readonly parts: readonly ResponseProblem[];

  constructor(message: string, parts: readonly ResponseProblem[]) {
    super("publish.refused", message);
    this.parts = parts;
  }
}

/** The slice is published, but not active in every process. Code `publish.not-live`. */
export class NotLive extends GatewayError {
  readonly warnings: readonly ResponseProblem[];

  constructor(message: string, warnings: readonly ResponseProblem[]) {
    super("publish.not-live", message);
    this.warnings = warnings;
  }
}

/** The gateway itself waits up to 25 s for its processes. */
const TIMEOUT_MS = 60_000;
const MAX_PAUSE_SECONDS = 5;
/** The gateway validates an owner's slice for 30 s at most. */
const VALIDATE_TIMEOUT_MS = 35_000;
/** A gateway reports up to 100 problems of a slice, and the number of the others. */
const MAX_PROBLEMS = 101;

export function createHttpTarget({ url, owner, token, tls }: HttpTargetOptions): PublishTarget {
  const base = url.replace(/\/+$/, "");
  const place = `${base}/config/slices/${owner}`;

  const ask = async (
    method: string,
    headers: Record<string, string> = {},
    body?: string,
    { url: to, timeoutMs } = { url: place, timeoutMs: TIMEOUT_MS },
  ): Promise<GatewayAnswer> => {
    const authorization = `Bearer ${await token()}`;
    const material = await tls?.();
    try {
      return await askGateway({
        method,
        url: to,
        headers: { ...headers, authorization, "user-agent": userAgentOf(TERRAFORM_PROGRAM) },
        body,
        timeoutMs,
        tls: material,
      });
    } catch (error) {
      const code = method === "GET" ? "publish.read" : "publish.write";
      throw new GatewayError(code, `Cannot reach the gateway at "${base}": ${errorText(error)}`, { cause: error });
    }
  };

  /** Retries while the gateway is busy: other publications interrupted each of its attempts, and it changed nothing. */
  const askAgain = async (...[method, headers, body]: Parameters<typeof ask>): Promise<GatewayAnswer> => {
    const untilMs = performance.now() + TIMEOUT_MS;
    for (;;) {
      const answer = await ask(method, headers, body);
      const isBusy = answer.status === 503 && answer.error === "publish.busy";
      if (!isBusy || performance.now() >= untilMs) return answer;
      const seconds = Number(answer.headers["retry-after"] ?? 1);
      await delay(1000 * (seconds >= 0 ? Math.min(seconds, MAX_PAUSE_SECONDS) : 1));
    }
  };

  const failure = (verb: string, answer: GatewayAnswer): GatewayError => {
    const code = verb === "read" ? "publish.read" : "publish.write";
    return new GatewayError(code, `Cannot ${verb} the slice of "${owner}" at "${base}": ${reasonOf(answer)}`);
  };

  async function read(known?: KnownText): Promise<Published & { readonly store?: string | undefined }> {
    const answer = await ask("GET");
    const store = answer.headers["gateway-store"];
    if (answer.status === 404 && answer.error === "absent") return { kind: "absent", ...stored(store) };
    if (answer.status !== 200) throw failure("read", answer);
    const published = readSliceText(answer.text, known);
    // Only a gateway sends the digest. Another server's response may echo the request, and must get into no state or plan.
    if (published.kind === "slice" && answer.headers["etag"] !== `"${published.digest}"`) throw failure("read", answer);
    const isLive = answer.headers["gateway-live"] !== "false";
    if (published.kind !== "slice") return { ...published, ...stored(store) };
    const claim = readClaimText(answer.headers["gateway-claim"]);
    return { ...published, claim, ...(!isLive && { behind: true }), ...stored(store) };
  }

  return {
    place,
    read,
    async identity() {
      // Two addresses of one gateway, or of its replicas, report the same store.
      const { store } = await read();
      return store === undefined ? undefined : `gateway ${store} ${owner}`;
    },
    async validate(text) {
      const to = { url: `${place}/validate`, timeoutMs: VALIDATE_TIMEOUT_MS };
      const answer = await ask("POST", JSON_BODY, text, to);
      if (answer.status === 200 && answer.body?.["digest"] === digestOf(text)) return;
      if (answer.status === 422 && answer.error === "invalid") throw refusal(owner, base, answer);
      // Older gateways cannot validate, and read the address as another owner's slice. Applying will report problems.
      if (answer.error === "owner" && (answer.status === 404 || answer.status === 403)) return;
      throw failure("validate", answer);
    },
    async write(text, expected, claim = "") {
      const headers = { ...JSON_BODY, ...(claim !== "" && { "gateway-claim": claim }) };
      let answer = await askAgain("PUT", { ...headers, ...preconditionOf(expected) }, text);
      // The slice was removed by another writer: putting it back overwrites nothing.
      if (answer.status === 412 && expected !== null && answer.body?.["digest"] === null) {
        answer = await askAgain("PUT", { ...headers, ...preconditionOf(null) }, text);
      }
      // Only a gateway sends the digest of the new content; another web server may respond 200 to anything.
      const isOurs = answer.body?.["digest"] === digestOf(text);
      if (answer.status === 200 && isOurs) return problemsIn(answer, "warning");
      if (answer.status === 202 && isOurs) throw notLive(owner, base, answer);
      if (answer.status === 412) throw conflict(owner, place, expected, answer);
      if (answer.status === 422) throw refusal(owner, base, answer);
      throw failure("publish", answer);
    },
    async remove(expected, claim = "") {
      // Always sent: a resource without a claim must not remove a slice with one.
      const headers = { "gateway-claim": claim === "" ? NO_CLAIM : claim };
      const answer = await askAgain("DELETE", { ...headers, ...preconditionOf(expected) });
      const isGone = answer.body?.["digest"] === null;
      // 412 without a digest: the slice no longer exists.
      if (isGone && (answer.status === 200 || answer.status === 202 || answer.status === 412)) return true;
      if (answer.status === 409 && answer.error === "claimed") return false;
      if (answer.status === 412) throw conflict(owner, place, expected, answer, "remove");
      throw answer.status === 422 ? refusal(owner, base, answer) : failure("remove", answer);
    },
  };
}

const JSON_BODY = { "content-type": "application/json" };
/** No resource has this claim. */
const NO_CLAIM = "none";

function preconditionOf(expected: string | null): Record<string, string> {
  if (expected === null) return { "if-none-match": "*" };
  // A damaged slice has no digest: replace it in any state.
  return { "if-match": expected === "" ? "*" : `"${expected}"` };
}

function stored(store: string | undefined): { readonly store?: string } {
  return store === undefined ? {} : { store };
}

function conflict(
  owner: string,
  place: string,
  expected: string | null,
  answer: GatewayAnswer,
  verb = "replace",
): GatewayError {
  const text =
    expected === null
      ? `Cannot create "${place}": a slice of owner "${owner}" is there already; take it over with: terraform import <address> ${place}`
      : `Cannot ${verb} "${place}": it was changed outside Terraform after this plan was made; make a new plan and review it`;
  return new GatewayError("publish.conflict", `${text}\n\n${reasonOf(answer)}`);
}

function refusal(owner: string, base: string, answer: GatewayAnswer): PublishRefusal {
  const parts = problemsIn(answer, "error");
  return new PublishRefusal(`The gateway at "${base}" refuses the slice of "${owner}": ${reasonOf(answer)}`, parts);
}

/** Untrusted: another server may respond instead of a gateway, so bound the problems as in a gateway. */
function problemsIn({ body, said }: GatewayAnswer, kind: "error" | "warning"): readonly ResponseProblem[] {
  const listed: unknown = body?.[kind === "error" ? "problems" : "warnings"];
  const problems: readonly unknown[] = Array.isArray(listed) ? listed : [];
  return problems
    .map((problem) => (problem ?? {}) as Record<string, unknown>)
    .filter(({ severity, message }) => severity === kind && typeof message === "string")
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message, source }) =>
      // A problem of another source has no location in this configuration.
      typeof source === "string"
        ? { path: "", message: said(`${source}: ${textOf(path)} ${textOf(message)}`) }
        : { path: said(path), message: said(message) },
    );
}

function notLive(owner: string, base: string, answer: GatewayAnswer): NotLive {
  const { body, said } = answer;
  const laggards: readonly unknown[] = Array.isArray(body?.["laggards"]) ? body["laggards"] : [];
  const lines = laggards.map((laggard) => {
    const { id, reason } = (laggard ?? {}) as Record<string, unknown>;
    return `  ${said(id)} ${said(reason)}`;
  });
  const text = `The gateway at "${base}" has the slice of "${owner}", but not every process of it serves it yet`;
  return new NotLive(`${text}:\n${lines.join("\n")}`, problemsIn(answer, "warning"));
}

function reasonOf({ status, headers, body, said }: GatewayAnswer): string {
  if (status === 401) return "it does not accept the token";
  const { message, error } = body ?? {};
  if (status === 403 && error === "token") return 'it has no "admin_token", so it accepts no changes';
  if (typeof message === "string") return said(message);
  if (status === 421) return 'it does not accept requests for this host name; add it to "admin_hosts" of the gateway';
  if (typeof error === "string" && status !== 404) return `${said(error)} (status ${status})`;
  // A page of another server does not help, and may repeat the request.
  const type = said(headers["content-type"]?.split(";", 1)[0]).slice(0, 60);
  return `it answers ${status}${type === "" ? "" : ` (${type})`}; is this the admin address of a gateway?`;
}

function digestOf(text: string): string | undefined {
  const slice = readSliceText(text);
  return slice.kind === "slice" ? slice.digest : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
