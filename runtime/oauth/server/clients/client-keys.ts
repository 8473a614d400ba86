/**
 * Public keys of clients that sign (`private_key_jwt`), from their metadata or from a published key set.
 *
 * Untrusted input: metadata and published key sets. Promise: a key is used only if it passes the current rules
 * (key-set.ts). Key sets are read only from hosts in `mcp_allowed_client_id_domains`. Both also apply to registered
 * clients.
 */
import type { JSONWebKeySet } from "jose";

import { matchesDomain, type DomainPattern } from "../../../settings/domains.ts";
import { pass, refuse, type StepResult } from "../answer.ts";
import { parseKeySet } from "../../../shared/key-set.ts";
import type { ClientMetadata } from "../grant-records.ts";
import type { RemoteDocuments } from "./remote-document.ts";

const MAX_ADDRESS_CHARACTERS = 2048;

/** Returns true for a URL from which a client's keys may be read. */
export function isKeySetAddress(value: unknown, domains: readonly DomainPattern[]): value is string {
  if (typeof value !== "string" || value.length > MAX_ADDRESS_CHARACTERS || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (
    url.protocol === "https:" && url.username === "" && url.password === "" && matchesDomain(domains, url.hostname)
  );
}

export interface ClientKeys {
  /**
   * Returns the keys of a client.
   *
   * @param peer address of the caller, whose budget is charged for a fetch
   * @param newerThanMs epoch milliseconds: published keys read before this may be fetched again
   */
  read(
    metadata: ClientMetadata,
    domains: readonly DomainPattern[],
    peer: string,
    newerThanMs?: number,
  ): Promise<StepResult<JSONWebKeySet>>;
}

export function createClientKeys(deps: {
  /** Absent: only keys in the metadata can be used. */
  readonly documents: RemoteDocuments | undefined;
}): ClientKeys {
  return {
    async read(metadata, domains, peer, newerThanMs) {
      const { jwks, jwks_uri: address } = metadata;
      if (jwks !== undefined) return usable(jwks);
      // Checked again: the list may have changed since the registration.
      if (!deps.documents || !isKeySetAddress(address, domains)) return refuse(...NO_KEYS, "no keys that may be read");
      const read = await deps.documents.read(address, {
        allowed: domains,
        isValid: (document) => usable(document).ok,
        peer,
        ...(newerThanMs === undefined ? {} : { newerThanMs }),
      });
      return read.ok ? usable(read.value) : read;
    },
  };
}

const NO_KEYS = ["invalid_client", "Client authentication failed"] as const;

/** Returns the usable keys of a set. Others are skipped: they may be meant for other servers. */
function usable(set: unknown): StepResult<JSONWebKeySet> {
  const parsed = parseKeySet(set);
  if (!parsed.ok) return refuse(...NO_KEYS, `the key set ${parsed.problem}`);
  if (parsed.value.keys.length > 0) return pass(parsed.value);
  const [problem = "has none for signatures"] = parsed.problems;
  return refuse(...NO_KEYS, `the key set has no usable key: ${problem}`);
}
