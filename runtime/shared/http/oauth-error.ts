/**
 * Error response of an OAuth server (RFC 6749 §5.2, §4.1.2.1; RFC 7591 §3.2.2), as text for the log.
 *
 * Untrusted input: everything that the server sent. Promises: the text is bounded, on one line, contains nothing that a
 * terminal or log viewer would obey, and no secret: neither what the gateway sent nor anything that looks like a token.
 */
import { visibleText } from "../json/visible-text.ts";

export interface OAuthErrorBody {
  /** Unknown type: servers may send anything. */
  readonly error?: unknown;
  readonly error_description?: unknown;
}

/** Settings that an operator can change for this peer, by name. */
export interface OAuthSettings {
  readonly client: string;
  /** Setting for the client's authentication method; absent: it cannot be chosen. */
  readonly method?: string;
  readonly scopes: string;
  /** Further parameters of the authorization request. */
  readonly parameters: string;
  /** Setting that omits `resource` (RFC 8707) from requests; absent: this peer never gets one. */
  readonly resource?: string;
  /** Setting for pushed authorization requests; absent: not available. */
  readonly push?: string;
  /** The address to register at the server. */
  readonly redirectUri: string;
}

/** "invalid_client", "Authorization_RequestDenied": a text with digits or hyphens may be a token. */
const WORD = /^[A-Za-z][A-Za-z_.]{0,59}$/;
const MAX_DESCRIPTION = 300;
/** Shorter secrets may be ordinary words. */
const MIN_SECRET = 8;

/**
 * @param sent secrets of the request, which some servers quote
 * @returns `invalid_client: "Client authentication failed"`
 */
export function oauthErrorText(
  { error, error_description: description }: OAuthErrorBody,
  sent: readonly (string | undefined)[] = [],
): string {
  const name = typeof error === "string" && WORD.test(error) ? error : "an unknown error";
  if (typeof description !== "string" || description === "") return name;
  return `${name}: ${quote(description, MAX_DESCRIPTION, sent)}`;
}

/**
 * Text of a server in quotes, bounded, on one line, without text that was sent and anything that looks like a token.
 */
export function quoteAnswer(text: string, sent: readonly (string | undefined)[]): string {
  return quote(text, MAX_DESCRIPTION, sent);
}

function quote(text: string, maxCharacters: number, sent: readonly (string | undefined)[]): string {
  const secrets = sent.flatMap((each = "") => (each.length < MIN_SECRET ? [] : [formsOf(each)]));
  const withoutSent = (from: string): string => secrets.reduce((rest, secret) => rest.replace(secret, REDACTED), from);
  // Before truncating: a part of a token would not be recognized.
  let safe = withoutSent(text).slice(0, MAX_READ);
  safe = safe.replace(BASE64, (run) => {
    const decoded = Buffer.from(run, "base64").toString();
    return withoutSent(decoded) === decoded ? run : REDACTED;
  });
  safe = safe.replace(TOKEN, (run) => (UUID.test(run) ? run : REDACTED));
  const short = safe.length > maxCharacters ? `${safe.slice(0, maxCharacters)}…` : safe;
  return visibleText(JSON.stringify(short));
}

/** A secret in the forms of HTML forms, addresses and JSON. */
function formsOf(secret: string): RegExp {
  const spelt = Array.from(secret, (character) => {
    if (/[A-Za-z0-9]/.test(character)) return character;
    const bytes = Buffer.from(character).toString("hex").replace(/../g, "%$&");
    const plain = character === " " ? "[ +]" : `\\\\?\\${character}`;
    return `(?:${plain}|${bytes})`;
  });
  return new RegExp(spelt.join(""), "gi");
}

const REDACTED = "[redacted]";
/** HTTP Basic encodes identifier and secret like this. */
const BASE64 = /[A-Za-z0-9+/]{8,}={0,2}/g;
const MAX_READ = 4096;
/** Parts of JWTs, codes, opaque tokens; words and host names are shorter, or have other characters in between. */
const TOKEN = /[A-Za-z0-9_~+=-]{32,}/g;
/** IDs of requests, which a provider's support needs. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const PASSING = new Set(["temporarily_unavailable", "server_error", "slow_down"]);
/** Request Timeout, Too Early, Too Many Requests. */
const PASSING_STATUS = new Set([408, 425, 429]);

/**
 * Whether the server indicates that the same request may work later. @param status absent: the response came through
 * the browser
 */
export function isPassingError(error: unknown, status?: number): boolean {
  if (status !== undefined && (status >= 500 || PASSING_STATUS.has(status))) return true;
  return typeof error === "string" && PASSING.has(error);
}

const ABOUT_CLIENT = new Set(["invalid_client", "unauthorized_client"]);
const MAX_HINTED = 1000;
/** Servers quote the definition of `invalid_client` for any cause (RFC 6749 §5.2; Ory Hydra). */
const DEFINITION = /\(e\.g\., unknown client[^)]*\)/i;

/** Setting to change, if the error code implies one; undefined: only the description can tell. */
export function settingToChange(
  { error, error_description: text }: OAuthErrorBody,
  of: OAuthSettings,
): string | undefined {
  const description = typeof text === "string" ? text.slice(0, MAX_HINTED) : "";
  if (/pushed[ _]authorization|\bPAR\b/i.test(description))
    return of.push === undefined
      ? "do not require pushed authorization requests (PAR) of this client at the server"
      : `set ${of.push}`;
  if (/\bDPoP\b/i.test(description)) return "do not require DPoP of this client at the server";
  if (error === "invalid_redirect_uri" || /redirect[ _]?ur[il]/i.test(description))
    return `register ${of.redirectUri} at the server`;
  if (/trusted hosts?\b|host not trusted/i.test(description))
    return `add the gateway to the trusted hosts of client registration at the server, or set ${of.client}`;
  if (typeof error !== "string") return undefined;
  if (/auth\w*[ _]method/i.test(description.replace(DEFINITION, "")) && ABOUT_CLIENT.has(error))
    return of.method === undefined
      ? "let the client authenticate with client_secret_basic or client_secret_post at the server"
      : `set ${of.method}`;
  if (ABOUT_CLIENT.has(error)) return `check ${of.client}`;
  if (of.resource !== undefined && (error === "invalid_target" || /\bAADSTS9010010\b/.test(description)))
    return `set ${of.resource} where the server knows no "resource"`;
  if (error === "invalid_scope") return `check ${of.scopes}`;
  if (error === "invalid_request") return `check ${of.parameters}`;
  return undefined;
}

/** The error, and the fix. */
export function oauthRefusalText(
  body: OAuthErrorBody,
  of: OAuthSettings,
  sent?: readonly (string | undefined)[],
): string {
  const setting = settingToChange(body, of);
  return setting === undefined ? oauthErrorText(body, sent) : `${oauthErrorText(body, sent)}; ${setting}`;
}
