/**
 * Orders a certificate by ACME. The only file that uses the protocol's library, which is loaded at the first order.
 *
 * Untrusted input: everything that the certificate authority sends, by ca-connection.ts. Promises: each step ends with the signal;
 * a certificate is returned only if it is valid now, for this host and for the key that was made for it.
 */
import { X509Certificate } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type * as Library from "acme-client";

import { certificateProblem, checkPair, coversHost, namesOf } from "../features/listener/certificate.ts";
import { timeProblem } from "../features/listener/certificate-end.ts";
import type { AcmeSettings } from "../features/listener/acme.ts";
import { errorText } from "../shared/errors.ts";
import { isRecord } from "../shared/is-record.ts";
import { AcmeFailure } from "./failure.ts";
import { problemText, type CaConnection } from "./ca-connection.ts";

export type ChallengeType = "tls-alpn-01" | "http-01";

/** Every replica must answer it while the order is pending. */
export interface AcmeChallenge {
  readonly type: ChallengeType;
  /** Last segment of the path of HTTP-01. */
  readonly token: string;
  /** Body of HTTP-01. */
  readonly keyAuthorization: string;
  /** Certificate and key of TLS-ALPN-01 (PEM). */
  readonly certificate?: string;
  readonly key?: string;
}

export interface Account {
  /** PEM. */
  readonly key: string;
  readonly url: string;
}

export interface OrderRequest {
  readonly host: string;
  /** ID of the certificate to be replaced (RFC 9773 §5); undefined for a first one. */
  readonly replaces: string | undefined;
  /** In the order of preference. */
  readonly challenges: readonly ChallengeType[];
  /** Makes every replica answer the challenge. */
  readonly present: (challenge: AcmeChallenge) => Promise<void>;
  /** @throws AcmeFailure if the certificate is no longer wanted */
  readonly check: () => void;
}

export interface IssuedPair {
  /** PEM, with the intermediate certificates. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export interface AcmeClient {
  /** Creates the account, or finds the one of this key. @throws AcmeFailure */
  register(key: string): Promise<Account>;
  /** @throws AcmeFailure */
  order(account: Account, request: OrderRequest): Promise<IssuedPair>;
}

export interface AcmeClientDeps {
  readonly settings: AcmeSettings;
  readonly connection: CaConnection;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** First pause between two looks at an order. */
  readonly pollMs?: number;
}

const POLL_MS = 1_000;
const LONGEST_POLL_MS = 15_000;
/** For an authorization, and again for the certificate. */
const LONGEST_WAIT_MS = 120_000;
const CLOCK_LAG_MS = 5 * 60_000;
const TOKEN = /^[A-Za-z0-9_-]{16,256}$/;

/** The default export: the build turns it into a CommonJS package, which has no other when loaded later. */
async function load(): Promise<typeof Library> {
  return ((await import("acme-client")) as unknown as { readonly default: typeof Library }).default;
}

/** A new P-256 key (PEM). */
export async function createKey(): Promise<string> {
  return (await (await load()).crypto.createPrivateEcdsaKey("P-256")).toString();
}

export function createAcmeClient(deps: AcmeClientDeps): AcmeClient {
  const { settings, connection, signal } = deps;

  const open = async (key: string, accountUrl?: string): Promise<Library.Client> => {
    const { Client } = await load();
    const { directory: directoryUrl, externalAccount } = settings;
    const client = new Client({
      directoryUrl,
      accountKey: key,
      ...(accountUrl !== undefined && { accountUrl }),
      ...(externalAccount && {
        externalAccountBinding: { kid: externalAccount.keyId, hmacKey: externalAccount.hmacKey },
      }),
    });
    // Its own requests follow redirects, have no bounds, and sleep for as long as a Retry-After says.
    (client as unknown as { http: { request: unknown } }).http.request = (
      url: string,
      method: string,
      options: { readonly data?: unknown } = {},
    ) => connection.send({ url, method, data: options.data }, signal);
    return client;
  };

  return {
    async register(key) {
      try {
        const client = await open(key);
        await client.createAccount({
          termsOfServiceAgreed: true,
          ...(settings.email !== undefined && { contact: [`mailto:${settings.email}`] }),
        });
        return { key, url: client.getAccountUrl() };
      } catch (error) {
        const { retryAfterMs, type, message } = failureOf(error);
        throw new AcmeFailure(`no account: ${message}`, { scope: "directory", retryAfterMs, type, cause: error });
      }
    },
    async order(account, request) {
      try {
        return await runOrder(await open(account.key, account.url), request, deps);
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

/** Errors of the library about unexpected responses name only our expectations. */
function failureOf(error: unknown): AcmeFailure {
  if (error instanceof AcmeFailure) return error;
  return new AcmeFailure(`unexpected response: ${errorText(error)}`.slice(0, 300), { scope: "host", cause: error });
}

async function runOrder(client: Library.Client, request: OrderRequest, deps: AcmeClientDeps): Promise<IssuedPair> {
  const { host, replaces, check } = request;
  const identifiers = [{ type: "dns", value: host }];
  const order = await client.createOrder({ identifiers, ...(replaces !== undefined && { replaces }) });
  const { authorizations } = order;
  if (!Array.isArray(authorizations) || authorizations.length !== 1)
    throw new AcmeFailure("the order has not exactly one authorization", { scope: "host" });
  const [authorization] = await client.getAuthorizations(order);
  if (authorization === undefined || authorization.identifier.value !== host)
    throw new AcmeFailure("the authorization is for another name", { scope: "host" });
  if (authorization.status !== "valid") await prove(client, authorization, request, deps);
  check();
  const key = await createKey();
  const [, csr] = await (await load()).crypto.createCsr({ altNames: [host] }, key);
  let finalized = await client.finalizeOrder(order, csr);
  const read = async (): Promise<Library.Order> => (finalized = await client.getOrder(order));
  if (finalized.status !== "valid") await settled(read, ["processing", "ready", "pending"], deps);
  const certificate: unknown = await client.getCertificate(finalized);
  check();
  validate(host, certificate, key, deps.now());
  return { certificate, key };
}

async function prove(
  client: Library.Client,
  authorization: Library.Authorization,
  { host, challenges, present, check }: OrderRequest,
  deps: AcmeClientDeps,
): Promise<void> {
  const offered = Array.isArray(authorization.challenges) ? authorization.challenges : [];
  const chosen = challenges.flatMap((type) => offered.find((each) => each.type === type) ?? [])[0];
  if (!chosen) {
    const message = `the certificate authority offers none of ${challenges.join(", ")}`;
    throw new AcmeFailure(message, { scope: "host" });
  }
  if (!TOKEN.test(chosen.token)) throw new AcmeFailure("the challenge has no valid token", { scope: "host" });
  const keyAuthorization = await client.getChallengeKeyAuthorization(chosen);
  const common = { token: chosen.token, keyAuthorization };
  if (isAlpn(chosen.type)) {
    const { crypto } = await load();
    const [key, certificate] = await crypto.createAlpnCertificate(authorization, keyAuthorization, await createKey());
    await present({ type: "tls-alpn-01", ...common, certificate: certificate.toString(), key: key.toString() });
  } else await present({ type: "http-01", ...common });
  check();
  await client.completeChallenge(chosen);
  const read = async () =>
    (await client.getAuthorizations({ authorizations: [authorization.url] } as Library.Order))[0];
  const ended = await settled(read, ["pending", "processing"], deps, () => {
    check();
    return undefined;
  });
  if (ended?.status === "valid") return;
  const error = ended?.challenges.map((each) => problemText(each.error)).find((each) => each !== undefined);
  const message = error ?? `validation by ${chosen.type} failed`;
  throw new AcmeFailure(`${chosen.type} for ${host}: ${message}`, { scope: "host" });
}

/** The library's types name two of three challenges. */
function isAlpn(type: string): boolean {
  return type === "tls-alpn-01";
}

/** Reads until the status is another one. @throws AcmeFailure after the longest wait, or when the status is "invalid" */
async function settled<T extends { readonly status?: unknown }>(
  read: () => Promise<T | undefined>,
  pending: readonly unknown[],
  { signal, pollMs = POLL_MS }: AcmeClientDeps,
  between: () => void = () => {},
): Promise<T | undefined> {
  for (let pauseMs = pollMs, waitedMs = 0; waitedMs < LONGEST_WAIT_MS; waitedMs += pauseMs, pauseMs *= 1.5) {
    await delay(Math.min(pauseMs, LONGEST_POLL_MS), undefined, { signal });
    between();
    const found = await read();
    if (!isRecord(found)) throw new AcmeFailure("the certificate authority sent no object", { scope: "host" });
    if (!pending.includes(found.status)) return found;
  }
  throw new AcmeFailure(`still pending after ${LONGEST_WAIT_MS / 1000} s`, { scope: "host" });
}

function validate(host: string, certificate: unknown, key: string, nowMs: number): asserts certificate is string {
  const text = typeof certificate === "string" ? certificate : "";
  const problem = certificateProblem(text) ?? pairProblem(host, text, key, nowMs);
  if (problem !== undefined)
    throw new AcmeFailure(`the issued certificate cannot be used: ${problem}`, { scope: "host" });
}

/** Why a certificate and its key cannot be used for the host; undefined if they can. Expiry is not a reason. */
export function usableProblem(host: string, certificate: string, key: string): string | undefined {
  try {
    const leaf = checkPair(certificate, key);
    return coversHost(namesOf(leaf), host) ? undefined : `it is not for ${host}`;
  } catch (error) {
    return errorText(error);
  }
}

function pairProblem(host: string, certificate: string, key: string, nowMs: number): string | undefined {
  const problem = usableProblem(host, certificate, key);
  if (problem !== undefined) return problem;
  const leaf = new X509Certificate(certificate);
  // A certificate of this second is good enough for a clock that is a little behind.
  const time = timeProblem(leaf, nowMs) && timeProblem(leaf, nowMs + CLOCK_LAG_MS);
  return time === undefined ? undefined : `${time}; check the clock of this host`;
}
