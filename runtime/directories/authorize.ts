/**
 * Authenticates the caller of a directory's SCIM endpoint.
 *
 * Untrusted input: the directory's name in the URL, and the header. Promises: a wrong token, a token of another
 * directory and an unknown directory get the same response in the same time. Wrong tokens never lock out the holder of
 * the right one.
 */
import { hash, timingSafeEqual } from "node:crypto";

import type { Directory } from "../features/sign-in/directories.ts";
import type { Exchange } from "../http/exchange.ts";
import { networkOf, type RateLimiter } from "../shared/rate-limit.ts";

export type Authorized =
  | { readonly ok: true; readonly directory: Directory }
  /** `seconds`: wait time after too many wrong tokens; 0: the sender may retry immediately. */
  | { readonly ok: false; readonly seconds: number };

const DUMMY_HASHES: readonly Buffer[] = [Buffer.alloc(32), Buffer.alloc(32)];

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
  let isValid = false;
  // Compare all of them: the time must not show which one matched.
  for (const known of directory?.tokenHashes ?? DUMMY_HASHES) if (timingSafeEqual(known, presented)) isValid = true;
  if (directory && token !== undefined && isValid) return { ok: true, directory };
  return { ok: false, seconds: failures.take(networkOf(exchange.remoteAddress)) };
}
