/**
 * Who may ask the admin listener. It is meant for operators and their machines, not for browsers.
 *
 * Untrusted input: Host, Authorization and client certificates. Promises: a web page whose name was pointed at us (DNS rebinding) gets
 * nothing, since its Host is a name we do not have; the token is compared in constant time.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";

import type { PublishToken } from "../config/compiled.ts";
import { type PublishScope, publishScope } from "./publish-scope.ts";

/** Who has a token. */
export interface Caller {
  /** Undefined: the operator. */
  readonly scope: PublishScope | undefined;
}

export type TokenRefusal = "no-token-set" | "missing" | "wrong";

/** @param names canonical; of `admin_hosts` and `admin_address` */
export function hostAllowed(header: string | undefined, names: ReadonlySet<string>): boolean {
  const match = /^(\[[^\]]+\]|[^:[\]]+)(:[0-9]{1,5})?$/.exec(header ?? "");
  const host = match?.[1]?.toLowerCase().replace(/^\[|\]$/g, "");
  if (host === undefined) return false;
  // An address cannot be rebound; probes and scrapers use the pod's.
  return host === "localhost" || isIP(host) !== 0 || names.has(host);
}

/** @returns who asks, by the token in an Authorization header */
export function createTokenGate(
  operator: string | undefined,
  publishers: readonly PublishToken[],
): (header: string | undefined) => Caller | TokenRefusal {
  const known: readonly { readonly digest: Buffer; readonly caller: Caller }[] = [
    ...(operator === undefined ? [] : [{ digest: digest(operator), caller: { scope: undefined } }]),
    ...publishers.map(({ entry, token }) => ({ digest: digest(token), caller: { scope: publishScope(entry) } })),
  ];
  return (header) => {
    if (known.length === 0) return "no-token-set";
    const text = /^Bearer +([^\s]+)$/i.exec(header ?? "")?.[1];
    if (text === undefined) return "missing";
    const given = digest(text);
    let found: Caller | undefined;
    // Hashes have one length, and all are compared, so the time tells nothing about a token, nor which one it was.
    for (const each of known) if (timingSafeEqual(given, each.digest)) found = each.caller;
    return found ?? "wrong";
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
