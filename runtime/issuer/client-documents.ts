/** Documents already read, for as long as they allow: so that not every token request fetches one. */
import type { DomainPattern } from "../config/domains.ts";
import type { Clock } from "../ports.ts";
import { pass, refuse, type Step } from "./answer.ts";
import { parseClientDocument } from "./client-document.ts";
import type { ClientMetadata } from "./records.ts";

/**
 * Reads a document under the rules of D18: https, allowlisted host, public address pinned, no redirects, no cookies,
 * 5 KiB, JSON. Only status 200 is a success.
 */
export type FetchClientDocument = (
  url: string,
  allowed: readonly DomainPattern[],
) => Promise<
  | {
      readonly ok: true;
      readonly document: unknown;
      /** From Cache-Control; absent when it says nothing. */ readonly maxAgeSeconds?: number;
    }
  | { readonly ok: false; readonly reason: string }
>;

export interface ClientDocuments {
  /** The metadata of an id whose host is allowed. */
  read(clientId: string, rules: DocumentRules): Promise<Step<ClientMetadata>>;
}

export interface DocumentRules {
  readonly allowedDomains: readonly DomainPattern[];
  readonly allowedPrivateUris: readonly string[];
}

interface Cached {
  readonly document: unknown;
  readonly until: number;
}

/** Below it a signed-in user could make us fetch in a loop; above it a withdrawn redirect URI would live too long. */
const MIN_AGE_SECONDS = 60;
const MAX_AGE_SECONDS = 24 * 3600;
const MAX_DOCUMENTS = 1000;

export function createClientDocuments(deps: {
  readonly fetch: FetchClientDocument;
  readonly clock: Clock;
}): ClientDocuments {
  const documents = new Map<string, Cached>();
  const reading = new Map<string, Promise<Step<unknown>>>();

  const readAnew = async (clientId: string, rules: DocumentRules): Promise<Step<unknown>> => {
    const answer = await deps.fetch(clientId, rules.allowedDomains);
    if (!answer.ok) return refuse("invalid_client", "The client ID metadata document cannot be read", answer.reason);
    // "MUST NOT cache error responses" and "MUST NOT cache documents that are invalid".
    if (!parseClientDocument(clientId, answer.document, rules.allowedPrivateUris).ok) return pass(answer.document);
    const age = Math.min(Math.max(answer.maxAgeSeconds ?? MIN_AGE_SECONDS, MIN_AGE_SECONDS), MAX_AGE_SECONDS);
    const oldest = documents.size >= MAX_DOCUMENTS ? documents.keys().next().value : undefined;
    if (oldest !== undefined) documents.delete(oldest);
    documents.set(clientId, { document: answer.document, until: deps.clock.now() + age * 1000 });
    return pass(answer.document);
  };

  return {
    async read(clientId, rules) {
      const cached = documents.get(clientId);
      if (cached && cached.until > deps.clock.now())
        return parseClientDocument(clientId, cached.document, rules.allowedPrivateUris);
      let current = reading.get(clientId);
      if (!current) {
        current = readAnew(clientId, rules).finally(() => reading.delete(clientId));
        reading.set(clientId, current);
      }
      const read = await current;
      return read.ok ? parseClientDocument(clientId, read.value, rules.allowedPrivateUris) : read;
    },
  };
}
