/** Parameters of a query or a form (application/x-www-form-urlencoded), read strictly. */

export type Parameters = ReadonlyMap<string, string>;

export type ParametersResult =
  | { readonly ok: true; readonly values: Parameters }
  | { readonly ok: false; readonly reason: "duplicate-parameter" | "malformed-parameter" };

/**
 * @param query with or without its "?"
 * @returns refused when a name occurs twice (request parameters MUST NOT be included more than once, RFC 6749 §3.1)
 *   or when the percent-encoding is not UTF-8
 */
export function parseQuery(query: string): ParametersResult {
  const text = query.startsWith("?") ? query.slice(1) : query;
  const values = new Map<string, string>();
  if (text === "") return { ok: true, values };
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    if (name === undefined || value === undefined) return { ok: false, reason: "malformed-parameter" };
    if (values.has(name)) return { ok: false, reason: "duplicate-parameter" };
    values.set(name, value);
  }
  return { ok: true, values };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Parameter on MCP server routes with the message address of old clients, see mcp/message-address.ts. */
export const MESSAGE_ADDRESS_PARAMETER = "gateway_endpoint";

/** True for a query with the gateway's parameter, whatever its other content: none of these goes upstream. */
export function namesMessageAddress(query: string): boolean {
  return query !== "" && /[?&]gateway_endpoint(?:[=&]|$)/.test(query);
}
