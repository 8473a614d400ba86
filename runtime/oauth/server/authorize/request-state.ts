/**
 * A checked authorization request while its person signs in and decides: sealed into the `request` parameter, so that
 * strangers who only ask leave nothing behind. One too long for an address waits in the store instead, a few at a time.
 *
 * Untrusted input: the parameter. Promises: it is ours and unchanged, ends after ten minutes, and is answered once; only
 * an answer, which takes somebody signed in, writes.
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

/** Who approved; see `AuthorizationRequestRecord.approvedBy`. */
export type Approver = NonNullable<AuthorizationRequestRecord["approvedBy"]>;

/** A request that waits. */
export interface FoundRequest {
  /** Value of the `request` parameter. */
  readonly text: string;
  /** The same for every text of one request; for form tokens. */
  readonly id: string;
  readonly request: AuthorizationRequestRecord;
}

export interface RequestStates {
  /** @returns value of the `request` parameter; undefined when too many long ones wait already */
  keep(request: AuthorizationRequestRecord, peer: string): Promise<string | undefined>;
  /** @returns undefined when it is none of ours, is over, or was answered */
  find(text: string): Promise<FoundRequest | undefined>;
  /** The value under which the request goes on once somebody approved it. */
  approved(found: FoundRequest, by: Approver): string;
  /** Before that value is given away. @returns false when the request is over or somebody else approved it */
  noteApproval(found: FoundRequest, by: Approver): Promise<boolean>;
  /** Takes the right to answer. Of several callers exactly one gets it. */
  answer(found: FoundRequest): Promise<boolean>;
}

export interface RequestStateDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Of what strangers may leave in the store. */
  readonly limit: RateLimiter;
}

/** With the sign-in around it the address stays below what browsers, proxies and cookies take. */
const MAX_SEALED_CHARACTERS = 1200;
const CONTEXT = "authorization request";
const STORED_ID = /^[A-Za-z0-9_-]{43}$/;

/** Without names: it travels in addresses. */
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
];

export function createRequestStates({ store, keys, clock, limit }: RequestStateDeps): RequestStates {
  const sealer = keys.sealer("authorization-request");
  const end = (): number => epochSeconds(clock) + AUTHORIZATION_REQUEST_SECONDS;
  const seal = (id: string, request: AuthorizationRequestRecord): string =>
    sealer.seal(JSON.stringify(toWire(id, end(), request)), CONTEXT);
  /** Sealed at rest too: whoever writes the store must not choose where the answer goes, or who approved. */
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

    // A fresh ten minutes: signing in elsewhere takes its time.
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
      // Longer than any text of this request that was given away before; after it none is.
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
  ];
}

function fromWire(wire: Wire): [id: string, expiresAt: number, request: AuthorizationRequestRecord] {
  const [id, expiresAt, issuer, clientId, metadataHash, redirectUri, sent, state, challenge, audience, scope, ask, by] =
    wire;
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
      askAgain: ask === 1,
      ...(by === 0 ? {} : { approvedBy: { userId: by[0], sid: by[1] } }),
    },
  ];
}
