/** Reads documents about clients through the guarded fetch (D18): accepted responses, and their freshness. */
import { CLIENT_DOCUMENT_BYTES, type SafeFetch } from "../../../http/fetch/safe-fetch.ts";
import type { FetchDocument, FetchedDocument } from "./remote-document.ts";
import { parseForeignJson } from "../../../shared/json/foreign-json.ts";
import { KEY_SET_TYPES } from "../../../shared/key-set.ts";

/**
 * @see OAuth Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document) §4: only 200, JSON, no redirects, at most 5 KiB, public addresses
 */
export function createFetchDocument(deps: { readonly fetch: SafeFetch }): FetchDocument {
  return async (url, domains) => {
    const answer = await deps.fetch({
      url,
      // Never private addresses, even if the host is listed by its exact name: these documents are for the whole internet.
      target: { kind: "listed", domains, private: "never" },
      headers: { accept: KEY_SET_TYPES },
      maxBytes: CLIENT_DOCUMENT_BYTES,
    });
    if (!answer.ok) {
      const transient = ["unresolved", "unreachable", "timeout"].includes(answer.reason);
      return { ok: false, reason: `${answer.reason}: ${answer.detail}`, transient };
    }
    const { status, headers, body } = answer;
    // "MUST treat any other status as an error".
    if (status !== 200) return { ok: false, reason: `status ${status}`, transient: status >= 500 || status === 429 };
    if (!isJson(headers["content-type"])) return { ok: false, reason: "not served as JSON" };
    const document = parseForeignJson(body);
    return document === undefined ? { ok: false, reason: "not JSON" } : { ok: true, document, ...freshness(headers) };
  };
}

/** "application/json" and "application/<anything>+json". */
function isJson(contentType: string | undefined): boolean {
  const type = contentType?.split(";")[0]?.trim().toLowerCase() ?? "";
  return type === "application/json" || /^application\/[a-z0-9.-]+\+json$/.test(type);
}

/**
 * Returns how long a response is fresh: `max-age` minus its age in other caches, else `Expires` (RFC 9111 §4.2.1).
 * Exported for tests.
 */
export function freshness(
  headers: Readonly<Record<string, string>>,
): Pick<Extract<FetchedDocument, { ok: true }>, "maxAgeSeconds" | "mustRevalidate"> {
  const directives = (headers["cache-control"] ?? "")
    .toLowerCase()
    .split(",")
    .map((each) => each.trim());
  const mustRevalidate = directives.some((each) => /^(no-store|no-cache|must-revalidate)(=|$)/.test(each))
    ? { mustRevalidate: true }
    : {};
  if (directives.some((each) => /^no-(store|cache)(=|$)/.test(each))) return { maxAgeSeconds: 0, ...mustRevalidate };
  const age = Number(/^\d{1,9}$/.exec(headers["age"] ?? "")?.[0] ?? 0);
  for (const each of directives) {
    const seconds = /^max-age="?(\d{1,10})"?$/.exec(each)?.[1];
    if (seconds !== undefined) return { maxAgeSeconds: Math.max(0, Number(seconds) - age), ...mustRevalidate };
  }
  if (headers["expires"] === undefined) return mustRevalidate;
  // "0" and other invalid dates mean already expired (RFC 9111 §5.3).
  const lifeMs = Date.parse(headers["expires"]) - Date.parse(headers["date"] ?? "");
  return {
    maxAgeSeconds: Number.isFinite(lifeMs) ? Math.max(0, Math.floor(lifeMs / 1000) - age) : 0,
    ...mustRevalidate,
  };
}
