/** For which e-mail addresses an issuer's word counts. */

/**
 * An issuer may vouch for the addresses of its own domains only: routes are opened by them, and users ended.
 *
 * @returns "" for what is no such address
 */
export function vouchedEmail(email: unknown, domains: ReadonlySet<string>): string {
  if (typeof email !== "string") return "";
  const [name = "", domain = "", ...others] = email.split("@");
  return name !== "" && others.length === 0 && domains.has(domain.toLowerCase()) && isPlain(email) ? email : "";
}

function isPlain(text: string): boolean {
  return text.length <= 320 && /^[\x21-\x7e]+$/.test(text);
}
