/** Renewal information of the certificate authority (ARI, RFC 9773), if its directory offers it. */
import type { X509Certificate } from "node:crypto";

import { isRecord } from "../shared/is-record.ts";
import { certificateId, nextCheck, suggestedTime } from "./renewal.ts";
import { retryAfterMs, type CaConnection } from "./ca-connection.ts";

export interface Suggestion {
  /** Undefined: the authority suggests nothing. Epoch milliseconds. */
  readonly renewAtMs: number | undefined;
  readonly checkAtMs: number;
}

export interface RenewalInfo {
  /** ID for `replaces` of an order; undefined without renewal information. @throws AcmeFailure */
  idOf(leaf: X509Certificate): Promise<string | undefined>;
  /** @returns undefined without renewal information @throws AcmeFailure */
  read(leaf: X509Certificate): Promise<Suggestion | undefined>;
}

export interface RenewalInfoDeps {
  readonly connection: CaConnection;
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
}

export function createRenewalInfo({ connection, directory, signal, now, random }: RenewalInfoDeps): RenewalInfo {
  let address: Promise<string | undefined> | undefined;
  const find = async (): Promise<string | undefined> => {
    const { data } = await connection.send({ method: "GET", url: directory }, signal);
    const found = isRecord(data) ? data["renewalInfo"] : undefined;
    return typeof found === "string" ? found.replace(/\/$/, "") : undefined;
  };
  const idOf = async (leaf: X509Certificate): Promise<string | undefined> =>
    (await (address ??= find())) === undefined ? undefined : certificateId(leaf);

  return {
    idOf,
    async read(leaf) {
      const id = await idOf(leaf);
      if (id === undefined) return undefined;
      const { data, headers } = await connection.send({ method: "GET", url: `${await address}/${id}` }, signal);
      const wait = retryAfterMs(headers["retry-after"], now());
      return { renewAtMs: suggestedTime(data, random()), checkAtMs: nextCheck(now(), wait) };
    },
  };
}
