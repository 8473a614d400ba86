/** Opens the store of `storage_url`. */
import { errorText, GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import type { Clock } from "../shared/clock.ts";
import { createMemoryStore } from "./memory.ts";
import { sqlitePath } from "./sqlite/sqlite-path.ts";
import type { Store } from "./store.ts";

export interface StoreDeps {
  readonly clock: Clock;
  readonly log: Log;
}

const EXPECTED = 'must be "memory:", "sqlite:PATH", "sqlite:///PATH" or "postgres://USER:PASSWORD@HOST/DATABASE"';

/**
 * @param url `memory:`, `sqlite:PATH` (relative to the working directory, or absolute), `sqlite:///PATH`, `postgres://…`
 * @throws GatewayError `store.url` (not understood), `store.open` (cannot be opened), `store.too-new`; none of them
 *   quotes the password
 */
export async function openStore(url: string, deps: StoreDeps): Promise<Store> {
  const scheme = /^[a-z]+(?=:)/.exec(url)?.[0];
  if (url === "memory:") return createMemoryStore(deps);
  if (scheme === "sqlite") {
    const path = sqlitePath(url);
    if (path === undefined) throw new GatewayError("store.url", `Cannot open store "${url}": ${EXPECTED}`);
    // Each kind of store is loaded on demand.
    const { openSqliteStore } = await import("./sqlite/sqlite.ts");
    return openSqliteStore({ path, clock: deps.clock });
  }
  if (scheme === "postgres" || scheme === "postgresql") return openPostgres(url, deps);
  throw new GatewayError("store.url", `Cannot open store "${redactUrl(url)}": ${EXPECTED}`);
}

async function openPostgres(url: string, { log }: StoreDeps): Promise<Store> {
  try {
    const { openPostgresStore } = await import("./postgres/postgres.ts");
    return await openPostgresStore({ url, log });
  } catch (error) {
    if (error instanceof GatewayError && error.code === "store.too-new") throw error;
    const reason = errorText(error).replace(/^Cannot use the store: /, "");
    throw new GatewayError("store.open", `Cannot open store "${redactUrl(url)}": ${reason}`, { cause: error });
  }
}

/** The URL for messages: user, host and database, without password and parameters (which may contain one). */
export function redactUrl(url: string): string {
  if (url.startsWith("sqlite:") || url === "memory:") return url;
  // If the password does not end at the only "@" (it has an unescaped "/", "?", "#" or "@"), parsing may split it
  // wrongly, so nothing is quoted.
  const signs = url.split("@").length - 1;
  const parsed = URL.parse(url);
  if (!parsed || signs > 1 || (signs === 1 && parsed.username === "")) return /^[a-z]{1,16}:/.exec(url)?.[0] ?? "";
  const { protocol, username, host, pathname } = parsed;
  return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
}
