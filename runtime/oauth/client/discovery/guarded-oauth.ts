/**
 * oauth4webapi's requests through the guarded fetch.
 *
 * Promise: only status, media type and body of a response reach the library, without ID tokens.
 */
import * as oauth from "oauth4webapi";

import type { LiveSettings } from "../../../config/compiled.ts";
import type { UpstreamReach } from "../../../features/connection/compiled.ts";
import { TOKEN_ANSWER_BYTES, type FetchTarget, type SafeFetch } from "../../../http/fetch/safe-fetch.ts";
import { parseForeignJson } from "../../../shared/json/foreign-json.ts";
import { isRecord } from "../../../shared/is-record.ts";

export class FetchRefused extends Error {}

/** Request bodies of oauth4webapi: forms and JSON text. */
type RequestBody = URLSearchParams | string | null;

/** Options that send oauth4webapi's requests through the guarded fetch. */
export function guardedOptions(fetch: SafeFetch, target: FetchTarget, seen: (status: number) => void) {
  return {
    // The guarded fetch checks schemes separately, depending on the source of the URL.
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: async (
      url: string,
      init: { readonly method: string; readonly headers: Record<string, string>; readonly body?: RequestBody },
    ): Promise<Response> => {
      const answer = await fetch({
        url,
        target,
        method: init.method === "POST" ? "POST" : "GET",
        headers: init.headers,
        ...(init.body === undefined || init.body === null ? {} : { body: init.body.toString() }),
        maxBytes: TOKEN_ANSWER_BYTES,
      });
      if (!answer.ok) throw new FetchRefused(`${answer.reason}: ${answer.detail}`);
      seen(answer.status);
      // Only the necessary header: a challenge would make the library ignore the error in the body, and cookies are unused.
      const type = answer.headers["content-type"];
      const isEmpty = answer.status === 204 || answer.body.length === 0;
      return new Response(isEmpty ? null : withoutIdToken(answer.body), {
        status: answer.status,
        headers: type === undefined ? {} : { "content-type": type },
      });
    },
  };
}

/** An ID token describes the user at the upstream, which is irrelevant here. It is neither checked nor stored. */
function withoutIdToken(body: Buffer): Buffer<ArrayBuffer> | string {
  const parsed = parseForeignJson(body);
  if (!isRecord(parsed) || !("id_token" in parsed)) return Buffer.from(body);
  const { id_token: _dropped, ...rest } = parsed;
  return JSON.stringify(rest);
}

/** Restrictions on an endpoint's URL, depending on its source. */
export function endpointTarget(
  server: { readonly issuer?: string | undefined },
  endpoint: string,
  context: {
    readonly upstreamUrl: string;
    readonly reach?: UpstreamReach | undefined;
    readonly settings: LiveSettings;
  },
): FetchTarget {
  const { reach } = context;
  if (server.issuer === undefined) return { kind: "configured", reach };
  const domains = context.settings.mcpAllowedAsMetadataDomains;
  return new URL(endpoint).origin === new URL(context.upstreamUrl).origin
    ? { kind: "upstream", domains, reach }
    : { kind: "named", domains };
}
