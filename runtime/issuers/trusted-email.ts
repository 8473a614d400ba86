/** Email addresses that an issuer is trusted to assert. */

/**
 * Returns the email if its domain is one of the issuer's own. Routes are opened, and users signed out, by email
 * address.
 *
 * @returns "" if the issuer is not trusted with the address
 */
export function trustedEmail(email: unknown, domains: ReadonlySet<string>): string {
  if (typeof email !== "string") return "";
  const [name = "", domain = "", ...others] = email.split("@");
  return name !== "" && others.length === 0 && domains.has(domain.toLowerCase()) && isPlain(email) ? email : "";
}

function isPlain(text: string): boolean {
  return text.length <= 320 && /^[\x21-\x7e]+$/.test(text);
}
