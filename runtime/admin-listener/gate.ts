/**
 * Access control of the admin listener. It is meant for operators and their tools, not for browsers.
 *
 * Untrusted input: Host, Authorization and client certificates. Promises: a web page whose name points to the gateway
 * (DNS rebinding) gets nothing, since its Host is an unknown name; the token is compared in constant time.
 */
import { isIP } from "node:net";
import { createHash, timingSafeEqual } from "node:crypto";

import type { WorkloadRight, PublishWorkloads } from "./publish-workloads.ts";
import { bareHost } from "../shared/net/bare-host.ts";
import type { TokenRefusal, PublishScope } from "./answer.ts";
import type { OwnerPublishToken } from "../features/process/compiled.ts";
import { matchesOwner } from "../features/process/owners.ts";
import { hashSecret } from "../shared/keys.ts";
import type { MintedTokens } from "./minted-tokens.ts";
import { publishScope } from "./publish-scope.ts";

/** Holder of a token. */
export interface AdminCaller {
  /** For records: "admin_token", "publish_token of team-a", "job team-a/deploy". */
  readonly name: string;
  /** Undefined: the operator's. */
  readonly scope: PublishScope | undefined;
  /** SHA-256 (base64url) of a token in the main configuration file; undefined: it was issued for minutes. */
  readonly token: string | undefined;
  /** Present: a job with its platform's token, which issues tokens by these rights and does nothing else. */
  readonly rights?: readonly WorkloadRight[];
}

/** @returns the caller, by the token in an Authorization header */
export type TokenGate = (header: string | undefined) => Promise<AdminCaller | TokenRefusal>;

/** @param names canonical; from `admin_hosts` and `admin_address` */
export function hostAllowed(header: string | undefined, names: ReadonlySet<string>): boolean {
  const match = /^(\[[^\]]+\]|[^:[\]]+)(:[0-9]{1,5})?$/.exec(header ?? "");
  const host = match?.[1] && bareHost(match[1].toLowerCase());
  if (host === undefined) return false;
  // An IP address cannot be rebound; probes and scrapers use the pod's.
  return host === "localhost" || isIP(host) !== 0 || names.has(host);
}

export function createTokenGate(
  operator: string | undefined,
  publishers: readonly OwnerPublishToken[],
  minted?: Pick<MintedTokens, "find">,
  workloads?: PublishWorkloads,
): TokenGate {
  const entryOf = (token: string, scope: PublishScope | undefined) => ({
    digest: digest(token),
    caller: {
      name: scope === undefined ? "admin_token" : `publish_token of ${scope.entry}`,
      scope,
      token: hashSecret(token),
    },
  });
  const known: readonly { readonly digest: Buffer; readonly caller: AdminCaller }[] = [
    ...(operator === undefined ? [] : [entryOf(operator, undefined)]),
    ...publishers.map(({ entry, token }) => entryOf(token, publishScope(entry))),
  ];
  /** Valid as long as the token that it was issued with, for the one owner that it was issued for. */
  const findMinted = async (text: string): Promise<AdminCaller | TokenRefusal> => {
    try {
      const found = await minted?.find(text);
      const by = found && known.find(({ caller }) => caller.token === found.by)?.caller;
      const right = found && workloads?.rights.find((each) => each.by === found.by);
      if (!found || (!by && !right)) return "wrong";
      if (by?.scope?.covers(found.owner) === false || (right && !matchesOwner(right.entry, found.owner)))
        return "wrong";
      const name = right ? jobName([right]) : `short-lived publish token of ${found.owner}, issued with ${by?.name}`;
      return { name, scope: publishScope(found.owner), token: undefined };
    } catch {
      return "unavailable";
    }
  };
  /** @returns undefined for an unknown token */
  const findWorkload = async (text: string): Promise<AdminCaller | TokenRefusal | undefined> => {
    const rights = (await workloads?.find(text)) ?? [];
    if (rights === "unavailable") return "unavailable";
    return rights.length === 0
      ? undefined
      : { name: jobName(rights), scope: scopeOf(rights), token: undefined, rights };
  };
  return async (header) => {
    if (known.length === 0 && (workloads?.rights.length ?? 0) === 0) return "no-token-set";
    const text = /^Bearer +([^\s]+)$/i.exec(header ?? "")?.[1];
    if (text === undefined) return "missing";
    const given = digest(text);
    let found: AdminCaller | undefined;
    // Hashes have one length, and all are compared, so the time reveals nothing about a token, nor which one it was.
    for (const each of known) if (timingSafeEqual(given, each.digest)) found = each.caller;
    return found ?? (await findWorkload(text)) ?? findMinted(text);
  };
}

function jobName(rights: readonly WorkloadRight[]): string {
  return `job ${rights.map(({ name }) => name).join(", ")}`;
}

function scopeOf(rights: readonly WorkloadRight[]): PublishScope {
  const entries = [...new Set(rights.map(({ entry }) => entry))];
  return { entry: entries.join(", "), covers: (owner) => entries.some((entry) => matchesOwner(entry, owner)) };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
