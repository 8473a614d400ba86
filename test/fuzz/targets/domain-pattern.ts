/** Host patterns and hosts: a pattern covers what URL parsers call by its name, and nothing beside. */
import { canonicalHost, coversHosts, matchesDomain, parseDomainPattern } from "../../../runtime/settings/domains.ts";
import { parseFrom } from "../../../runtime/features/routing/from.ts";
import { must, mustEqual, orRefused, partsOf } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const [written = "", host = ""] = partsOf(data).map((each) => Buffer.from(each, "latin1").toString("utf8"));
  const name = canonicalHost(host);
  if (name !== undefined) {
    mustEqual(canonicalHost(name) ?? null, name, "its form is not its own form");
    const url = `https://${name.includes(":") ? `[${name}]` : name}/`;
    if (URL.canParse(url)) mustEqual(new URL(url).hostname.replace(/^\[|\]$/g, ""), name, "another host to URL");
  }
  const pattern = orRefused(
    (error) => error instanceof TypeError,
    () => parseDomainPattern(written),
  );
  if (pattern) {
    mustEqual(parseDomainPattern(pattern.text), pattern, "its text is another pattern");
    const covers = matchesDomain([pattern], host);
    const { wildcard, domain } = pattern;
    mustEqual(
      covers,
      name !== undefined && (wildcard ? name.endsWith(`.${domain}`) : name === domain),
      "covers another host",
    );
    must(!covers || !host.startsWith("*.") || coversHosts([pattern], host), "covers a host and not its wildcard");
  }
  const from = parseFrom(written);
  if (from.ok) {
    const again = parseFrom(from.value.origin);
    mustEqual(again, from, "its origin is another one");
  }
}
