/** @param hostname as URLs have it @returns without the brackets of an IPv6 address */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
