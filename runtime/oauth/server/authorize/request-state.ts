/**
 * A checked authorization request during sign-in and consent, sealed into the `request` parameter, so that
 * unauthenticated requests leave no records. Requests too long for a URL are stored instead, within a limit.
 *
 * Untrusted input: the parameter. Promises: a request is ours, unchanged, valid for ten minutes and answered once. Only
 * an answer, which requires a signed-in user, writes to the store.
 */
import { hashSecret, randomSecret, type Keys } from "../../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import type { RateLimiter } from "../../../shared/rate-limit.ts";
import type { Store } from "../../../store/store.ts";
import {
  answeredKey,
  AUTHORIZATION_REQUEST_SECONDS,
  authorizationRequestKey,
  type AnsweredRecord,
  type AuthorizationRequestRecord,
  type StoredRequestRecord,
} from "../grant-records.ts";
import type { UserId } from "../../../shared/user-id.ts";

/** The consenting user; see `AuthorizationRequestRecord.approvedBy`. */
export type Approver = NonNullable<AuthorizationRequestRecord["approvedBy"]>;

/** A pending request. */
export interface FoundRequest {
  /** Value of the `request` parameter. */
  readonly text: string;
  /** The same for every text of one request; for form tokens. */
  readonly id: string;
  readonly request: AuthorizationRequestRecord;
}

export interface RequestStates {
  /** @returns value of the `request` parameter; undefined if too many long ones are stored */
  keep(request: AuthorizationRequestRecord, peer: string): Promise<string | undefined>;
  /** @returns undefined if the text is not ours, expired or already answered */
  find(text: string): Promise<FoundRequest | undefined>;
  /** Returns the parameter value of the request after consent. */
  approved(found: FoundRequest, by: Approver): string;
  /** Stores the consent before that value is used. @returns false if the request has expired or another user consented */
  noteApproval(found: FoundRequest, by: Approver): Promise<boolean>;
  /** Claims the right to answer. Of several callers exactly one gets it. */
  answer(found: FoundRequest): Promise<boolean>;
}

export interface RequestStateDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Limit for records of unauthenticated requests. */
  readonly limit: RateLimiter;
}

/** With the sign-in around it, the URL stays below the limits of browsers, proxies and cookies. */
const MAX_SEALED_CHARACTERS = 1200;
const CONTEXT = "authorization request";
const STORED_ID = /^[A-Za-z0-9_-]{43}$/;

/** A tuple without names, to keep URLs short. */
type Wire = readonly [
  id: string,
  expiresAt: number,
  issuer: string,
  clientId: string,
  metadataHash: string,
  redirectUri: string,
  redirectUriSent: 0 | 1,
  state: string | 0,
  codeChallenge: string,
  audience: string,
  scope: string,
  askAgain: 0 | 1,
  approvedBy: readonly [userId: UserId, sid: string] | 0,
  keyThumbprint?: string,
];

export function createRequestStates({ store, keys, clock, limit }: RequestStateDeps): RequestStates {
  const sealer = keys.sealer("authorization-request");
  const end = (): number => epochSeconds(clock) + AUTHORIZATION_REQUEST_SECONDS;
  const seal = (id: string, request: AuthorizationRequestRecord): string =>
    sealer.seal(JSON.stringify(toWire(id, end(), request)), CONTEXT);
  /** Sealed in the store as well: write access must not determine the redirect URI or the consenting user. */
  const stored = (id: string, request: AuthorizationRequestRecord): StoredRequestRecord => ({
    schema: 1,
    sealed: seal(id, request),
  });
  const requestOf = (id: string, { sealed = "" }: StoredRequestRecord): AuthorizationRequestRecord | undefined => {
    const opened = sealer.open(sealed, CONTEXT);
    const [sealedId, , request] = opened ? fromWire(JSON.parse(opened.toString()) as Wire) : [];
    return sealedId === id ? request : undefined;
  };
  const isStored = ({ text }: FoundRequest): boolean => STORED_ID.test(text);

  return {
    async keep(request, peer) {
      const sealed = seal(randomSecret(16), request);
      if (sealed.length <= MAX_SEALED_CHARACTERS) return sealed;
      if (limit.take(peer) > 0) return undefined;
      const id = randomSecret();
      await store.put(authorizationRequestKey(id), stored(id, request), { ifVersion: 0, expiresAt: end() });
      return id;
    },

    async find(text) {
      if (STORED_ID.test(text)) {
        const record = await store.get<StoredRequestRecord>(authorizationRequestKey(text));
        const request = record && requestOf(text, record.value);
        return request && { text, id: text, request };
      }
      const opened = sealer.open(text, CONTEXT);
      if (!opened) return undefined;
      const [id, expiresAt, request] = fromWire(JSON.parse(opened.toString()) as Wire);
      if (expiresAt <= epochSeconds(clock) || (await store.get(answeredKey(hashSecret(id))))) return undefined;
      return { text, id, request };
    },

    // Valid for another ten minutes, since connecting takes time.
    approved: (found, by) => (isStored(found) ? found.text : seal(found.id, { ...found.request, approvedBy: by })),

    async noteApproval(found, by) {
      if (!isStored(found)) return true;
      const key = authorizationRequestKey(found.id);
      const record = await store.get<StoredRequestRecord>(key);
      const request = record && requestOf(found.id, record.value);
      if (!request || (request.approvedBy && request.approvedBy.userId !== by.userId)) return false;
      return (
        await store.put(key, stored(found.id, { ...request, approvedBy: by }), {
          ifVersion: record.version,
          expiresAt: end(),
        })
      ).ok;
    },

    async answer(found) {
      if (isStored(found)) return (await store.take(authorizationRequestKey(found.id))) !== undefined;
      const answered: AnsweredRecord = { schema: 1 };
      // Longer than any issued text of this request. None is issued afterwards.
      const expiresAt = end() + 60;
      return (await store.put(answeredKey(hashSecret(found.id)), answered, { ifVersion: 0, expiresAt })).ok;
    },
  };
}

function toWire(id: string, expiresAt: number, request: AuthorizationRequestRecord): Wire {
  const { approvedBy } = request;
  return [
    id,
    expiresAt,
    request.issuer,
    request.clientId,
    request.metadataHash,
    request.redirectUri,
    request.redirectUriSent ? 1 : 0,
    request.state ?? 0,
    request.codeChallenge,
    request.audience,
    request.scope,
    request.askAgain ? 1 : 0,
    approvedBy ? [approvedBy.userId, approvedBy.sid] : 0,
    ...(request.keyThumbprint === undefined ? ([] as const) : ([request.keyThumbprint] as const)),
  ];
}

function fromWire(wire: Wire): [id: string, expiresAt: number, request: AuthorizationRequestRecord] {
  const [
    id,
    expiresAt,
    issuer,
    clientId,
    metadataHash,
    redirectUri,
    sent,
    state,
    challenge,
    audience,
    scope,
    ask,
    by,
    key,
  ] = wire;
  return [
    id,
    expiresAt,
    {
      schema: 1,
      issuer,
      clientId,
      metadataHash,
      redirectUri,
      redirectUriSent: sent === 1,
      ...(state === 0 ? {} : { state }),
      codeChallenge: challenge,
      audience,
      scope,
      ...(key === undefined ? {} : { keyThumbprint: key }),
      askAgain: ask === 1,
      ...(by === 0 ? {} : { approvedBy: { userId: by[0], sid: by[1] } }),
    },
  ];
}
