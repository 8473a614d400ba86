/**
 * The token for reading secrets: obtained by logging in, renewed while possible, and then obtained again.
 *
 * Untrusted input: the server's responses. Promises: one login at a time, however many callers wait for it; no message
 * contains a token, JWT or SecretID; a token close to its end is not used.
 */
import { open } from "node:fs/promises";

import type { VaultLogin } from "../features/process/vault.ts";
import type { Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { quoteAnswer } from "../shared/http/oauth-error.ts";
import { isRecord, type Members } from "../shared/is-record.ts";
import type { VaultAnswer, VaultRequests } from "./requests.ts";

export type TokenOutcome =
  | { readonly ok: true; readonly token: string }
  | { readonly ok: false; readonly failure: string };

export interface VaultTokens {
  token(): Promise<TokenOutcome>;
  /**
   * A replacement for a token that the server rejected; undefined when that token is valid, or no other is available.
   */
  another(refused: string): Promise<TokenOutcome | undefined>;
}

export interface VaultTokenDeps {
  readonly requests: Pick<VaultRequests, "ask">;
  readonly clock: Clock;
  /** For an AppRole; undefined if it needs none. @throws GatewayError when it cannot be read */
  readonly secretId: () => Promise<string | undefined>;
}

interface Held {
  readonly token: string;
  /** When the server last accepted it (epoch milliseconds). */
  readonly provenAtMs: number;
  /** Absent: it does not expire. */
  readonly renewAtMs?: number;
  readonly endsAtMs?: number;
  readonly isRenewable: boolean;
  /** As in the login response. */
  readonly lifeMs: number;
}

type Login = { readonly ok: true; readonly held: Held } | Extract<TokenOutcome, { readonly ok: false }>;

const MAX_FILE_BYTES = 64 * 1024;
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
/** Fractions of its life: renewed after two thirds, not used in the last tenth. */
const RENEW_AFTER = 2 / 3;
const USED_UNTIL = 0.9;
/** Until the next attempt, while the previous token is valid. */
const RETRY_MS = 10_000;
const PROVE_AGAIN_AFTER_MS = 30_000;

/** Any token of a usual role (policy "default") can do this: checks that it is valid and that the server works. */
export function lookUp(requests: VaultTokenDeps["requests"], token: string): Promise<VaultAnswer> {
  return requests.ask({ method: "GET", path: "auth/token/lookup-self", token });
}

export function createVaultTokens(login: VaultLogin, { requests, clock, secretId }: VaultTokenDeps): VaultTokens {
  let held: Held | undefined;
  let running: Promise<Login> | undefined;

  return {
    async token() {
      if (login.kind === "token-file") return readToken(login.tokenFile);
      const isGood = held !== undefined && clock.now() < (held.renewAtMs ?? Infinity);
      return held && isGood ? { ok: true, token: held.token } : outcomeOf(once(() => obtain(held)));
    },
    async another(refused) {
      if (login.kind === "token-file") {
        const read = await readToken(login.tokenFile);
        return read.ok && read.token === refused ? undefined : read;
      }
      if (held && held.token !== refused && !running) return { ok: true, token: held.token };
      if (!running && held && clock.now() - held.provenAtMs < PROVE_AGAIN_AFTER_MS) return undefined;
      const outcome = await outcomeOf(once(() => replace(held)));
      return outcome.ok && outcome.token === refused ? undefined : outcome;
    },
  };

  function once(work: () => Promise<Login>): Promise<Login> {
    return (running ??= work().finally(() => {
      running = undefined;
    }));
  }

  /**
   * A forbidden path looks like an expired token, and one owner's forbidden path must not cause logins: each login is a
   * lease at the server, may use up a SecretID, and a failed one would take away valid secrets from all owners.
   */
  async function replace(refused: Held | undefined): Promise<Login> {
    if (!refused) return obtain(undefined);
    const answer = await lookUp(requests, refused.token);
    if (!answer.ok) return { ok: false, failure: answer.failure };
    return answer.status === 200 ? keep({ ...refused, provenAtMs: clock.now() }) : obtain(undefined);
  }

  async function obtain(known: Held | undefined): Promise<Login> {
    const isAlive = known !== undefined && clock.now() < (known.endsAtMs ?? Infinity);
    const renewed = known?.isRenewable && isAlive ? await renew(known) : undefined;
    if (renewed) return keep(renewed);
    const outcome = await logIn();
    if (outcome.ok) return keep(outcome.held);
    // The token is still valid for a while.
    if (known && isAlive) return keep({ ...known, renewAtMs: Math.min(clock.now() + RETRY_MS, known.endsAtMs ?? 0) });
    held = undefined;
    return outcome;
  }

  /** @returns undefined when a login is due: past its longest life, renewing a token returns only the rest of it */
  async function renew(known: Held): Promise<Held | undefined> {
    const request = { method: "POST", path: "auth/token/renew-self", token: known.token, body: {} } as const;
    const answer = await requests.ask(request);
    const renewed = answer.ok && answer.status === 200 ? heldOf(answer.body) : undefined;
    return renewed && renewed.lifeMs >= known.lifeMs / 2 ? { ...renewed, lifeMs: known.lifeMs } : undefined;
  }

  async function logIn(): Promise<Login> {
    const credentials = await credentialsOf();
    if (!credentials.ok) return credentials;
    const { mount, body } = credentials;
    const answer = await requests.ask({ method: "POST", path: `auth/${mount}/login`, body });
    if (!answer.ok) return { ok: false, failure: answer.failure };
    if (answer.status !== 200)
      return { ok: false, failure: refusal(answer.status, mount) + serverMessage(answer.body, body) };
    const fresh = heldOf(answer.body);
    if (fresh) return { ok: true, held: fresh };
    return { ok: false, failure: `the login at "auth/${mount}/login" returned no token, must require no further step` };
  }

  function keep(next: Held): Login {
    held = next;
    return { ok: true, held: next };
  }

  async function credentialsOf() {
    const refuse = (failure: string) => ({ ok: false, failure }) as const;
    try {
      if (login.kind === "approle") {
        const id = await secretId();
        const body = { role_id: login.roleId, ...(id !== undefined && { secret_id: id }) };
        return { ok: true, mount: login.mount, body } as const;
      }
      if (login.kind === "token-file") return refuse("there is no login with a token file");
      const jwt = await readBounded(login.tokenFile);
      if (!TOKEN.test(jwt)) return refuse(`"${login.tokenFile}" has no token, must have a JWT`);
      return { ok: true, mount: login.mount, body: { role: login.role, jwt } } as const;
    } catch (error) {
      return refuse(`what it logs in with cannot be read: ${errorText(error)}`);
    }
  }

  function refusal(status: number, mount: string): string {
    const cause =
      login.kind === "approle"
        ? "the AppRole is missing or does not accept the RoleID and SecretID"
        : `the role "${"role" in login ? login.role : ""}" is missing or does not accept the token`;
    return `the login at "auth/${mount}/login" was refused (${status}): ${cause}`;
  }

  /** The lifetime of a token, from the response to a login or renewal. */
  function heldOf({ auth }: Members): Held | undefined {
    if (!isRecord(auth)) return undefined;
    const { client_token: token, lease_duration: seconds, renewable } = auth;
    if (typeof token !== "string" || !TOKEN.test(token)) return undefined;
    if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 0) return undefined;
    const isRenewable = renewable === true;
    const now = clock.now();
    if (seconds === 0) return { token, provenAtMs: now, isRenewable, lifeMs: Infinity };
    const lifeMs = seconds * 1000;
    // A token that cannot be renewed is replaced while it is still valid.
    const [renewAtMs, endsAtMs] = [now + lifeMs * RENEW_AFTER, now + lifeMs * USED_UNTIL];
    return { token, provenAtMs: now, renewAtMs, endsAtMs, isRenewable, lifeMs };
  }
}

/**
 * The server's message about a login, without the secret that was presented: mostly the part of the role that does not
 * match.
 */
function serverMessage({ errors }: Members, presented: { readonly jwt?: string; readonly secret_id?: string }): string {
  const texts = Array.isArray(errors) ? errors.filter((each) => typeof each === "string" && each !== "") : [];
  if (texts.length === 0) return "";
  let text = texts.join("; ");
  // However short: a server that quotes it must not get it into the log.
  for (const secret of [presented.jwt, presented.secret_id])
    if (secret !== undefined && secret !== "") text = text.replaceAll(secret, "[redacted]");
  return `; it says ${quoteAnswer(text, [])}`;
}

async function outcomeOf(login: Promise<Login>): Promise<TokenOutcome> {
  const outcome = await login;
  return outcome.ok ? { ok: true, token: outcome.held.token } : outcome;
}

async function readToken(path: string): Promise<TokenOutcome> {
  try {
    const token = await readBounded(path);
    return TOKEN.test(token) ? { ok: true, token } : { ok: false, failure: `"${path}" has no token, must have one` };
  } catch (error) {
    return { ok: false, failure: `what it logs in with cannot be read: ${errorText(error)}` };
  }
}

async function readBounded(path: string): Promise<string> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  if (size > MAX_FILE_BYTES) throw new Error(`"${path}" has more than ${MAX_FILE_BYTES} bytes`);
  return (await file.readFile("utf8")).trim();
}
