/** Stored upstream tokens: sealed when written, opened when read. */
import { hashSecret, type Keys } from "../../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import type { PutResult, Store, StoredRecord } from "../../../store/store.ts";
import { bindingOf, VAULT_SECONDS, upstreamTokenTag, type UpstreamTokenRecord } from "../connection-records.ts";

/** Sealed content of a record. */
export interface SealedTokens {
  readonly access: string;
  readonly refresh?: string;
  /** Server and client of the tokens: see `bindingOf`. Absent in seals of earlier versions. */
  readonly bound?: string;
}

export type StoredUpstreamTokens = StoredRecord<UpstreamTokenRecord>;

/** A usable token, or the reason why there is none. */
export type Held =
  | {
      readonly kind: "token";
      readonly accessToken: string;
      /** Epoch seconds; absent: no known expiry. */
      readonly expiresAt?: number;
      /** Epoch seconds. */
      readonly obtainedAt: number;
      readonly canRefresh: boolean;
    }
  /** The user has not connected, or has to connect again. */
  | { readonly kind: "none" }
  /** The server is unreachable, and our token has expired. */
  | { readonly kind: "unavailable" }
  /** For direct grants; `misconfigured` also for connections. */
  | { readonly kind: "refused"; readonly why: Refused };

/**
 * denied: this user has no permission. sign-in: may succeed after a new sign-in. misconfigured: the operator must
 * change something. issuer-changed: the operator must confirm the issuer.
 */
export type Refused = "denied" | "sign-in" | "misconfigured" | "issuer-changed";

export const NONE: Held = { kind: "none" };
export const UNAVAILABLE: Held = { kind: "unavailable" };
export const MISCONFIGURED: Held = { kind: "refused", why: "misconfigured" };

export interface UpstreamTokenRecords {
  readonly read: (key: string) => Promise<StoredUpstreamTokens | undefined>;
  /**
   * @param ifVersion absent: any version
   * @param expiresAt expiry of the record in epoch seconds; absent: extended while it is used
   */
  readonly put: (
    key: string,
    record: UpstreamTokenRecord,
    ifVersion?: number,
    expiresAt?: number,
  ) => Promise<PutResult>;
  /** @param record server, client and resource of the tokens */
  readonly seal: (
    key: string,
    tokens: SealedTokens,
    record: Pick<UpstreamTokenRecord, "server" | "client" | "resource">,
  ) => string;
  /** @returns undefined if the connection ended, the seal is not ours, or the record was changed to another destination */
  readonly open: (key: string, record: UpstreamTokenRecord) => SealedTokens | undefined;
  readonly held: (key: string, record: UpstreamTokenRecord) => Held;
  readonly isExpired: (record: UpstreamTokenRecord) => boolean;
  /** Drops the tokens. The user has to connect again. */
  readonly end: (
    key: string,
    stored: StoredUpstreamTokens,
    why: NonNullable<UpstreamTokenRecord["ended"]>,
  ) => Promise<void>;
}

export function createUpstreamTokenRecords(deps: {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
}): UpstreamTokenRecords {
  const { store, clock } = deps;
  const sealer = deps.keys.sealer("vault");

  const open: UpstreamTokenRecords["open"] = (key, record) => {
    const bytes = record.tokens === undefined ? undefined : sealer.open(record.tokens, key);
    const tokens = bytes && (JSON.parse(bytes.toString()) as SealedTokens);
    return tokens?.bound === undefined || tokens.bound === hashSecret(bindingOf(record)) ? tokens : undefined;
  };
  const put: UpstreamTokenRecords["put"] = (key, record, ifVersion, expiresAt) =>
    store.put(key, record, {
      ...(ifVersion === undefined ? {} : { ifVersion }),
      expiresAt: expiresAt ?? epochSeconds(clock) + VAULT_SECONDS,
      tags: [upstreamTokenTag(record.userId)],
    });

  return {
    read: (key) => store.get<UpstreamTokenRecord>(key),
    put,
    seal: (key, tokens, record) =>
      sealer.seal(JSON.stringify({ ...tokens, bound: hashSecret(bindingOf(record)) }), key),
    open,
    held(key, record) {
      const tokens = record.ended === undefined ? open(key, record) : undefined;
      if (!tokens) return NONE;
      return {
        kind: "token",
        accessToken: tokens.access,
        ...(record.expiresAt === undefined ? {} : { expiresAt: record.expiresAt }),
        obtainedAt: record.obtainedAt,
        canRefresh: record.canRefresh,
      };
    },
    isExpired: (record) => record.expiresAt !== undefined && record.expiresAt <= epochSeconds(clock),
    async end(key, stored, why) {
      const { tokens: _gone, expiresAt: _at, ...rest } = stored.value;
      await put(key, { ...rest, canRefresh: false, ended: why }, stored.version);
    },
  };
}
