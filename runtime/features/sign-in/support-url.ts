/** `support_url`: the link on error pages that leads to people who can help. */
import { canonicalHost } from "../../settings/domains.ts";
import { hasUnsafeCharacter, parseHttpUrl, type Reading } from "../../settings/values.ts";

/** One address, and perhaps what the message begins with: `mailto:help@example.com?subject=Gateway`. */
const MAILTO = /^mailto:[A-Za-z0-9.!#$%&'*+/=^_`{|}~-]+@([A-Za-z0-9.-]+)(?:\?[^#?"<>]*)?$/;

/** Everybody may click it, so it is nothing that a browser would run, and no page that others could change on its way. */
export function parseSupportUrl(text: string): Reading<URL> {
  const problem = 'must begin with https://, or be an address such as "mailto:help@example.com"';
  if (/^https:\/\//i.test(text)) return parseHttpUrl(text);
  const host = MAILTO.exec(text)?.[1];
  if (host === undefined || canonicalHost(host) === undefined || hasUnsafeCharacter(text))
    return { ok: false, problem };
  const url = URL.parse(text);
  return url === null ? { ok: false, problem } : { ok: true, value: url };
}
