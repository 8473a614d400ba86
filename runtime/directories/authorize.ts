/**
 * Who may speak for a directory.
 *
 * Untrusted input: the name in the address and the header. Promise: a wrong token, one of another directory and a directory
 * that there is none of are answered alike, in the same time; who has the right one is never kept out by those who have not.
 */
import { hash, timingSafeEqual } from "node:crypto";

import type { Directory } from "../features/sign-in/directories.ts";
import type { Exchange } from "../http/exchange.ts";
import { networkOf, type RateLimiter } from "../shared/rate-limit.ts";

export type Authorized =
  | { readonly ok: true; readonly directory: Directory }
  /** `seconds`: after which the sender may go on, of too many that were wrong; 0: it may at once. */
  | { readonly ok: false; readonly seconds: number };

const NOBODYS: readonly Buffer[] = [Buffer.alloc(32), Buffer.alloc(32)];

export function authorize(
  failures: RateLimiter,
  exchange: Exchange,
  directories: readonly Directory[],
  name: string,
): Authorized {
  const directory = directories.find((each) => each.name === name);
  const [only, ...others] = exchange.headerValues("authorization");
  const token = others.length > 0 ? undefined : /^bearer +([\x21-\x7e]+)$/i.exec(only ?? "")?.[1];
  const presented = hash("sha256", token ?? "", "buffer");
  let isGood = false;
  // All of them, whichever it is.
  for (const known of directory?.tokenHashes ?? NOBODYS) if (timingSafeEqual(known, presented)) isGood = true;
  if (directory && token !== undefined && isGood) return { ok: true, directory };
  return { ok: false, seconds: failures.take(networkOf(exchange.remoteAddress)) };
}
