/** The head of an HTTP/2 request, as lines "name: value": pseudo-headers become what HTTP/1.1 would say. */
import { parseRequestHead } from "../../../runtime/http/listener/accept-h2.ts";
import { canonicalTarget } from "../../../runtime/shared/http/target.ts";
import { latin1, must, mustEqual } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const raw = latin1(data)
    .split("\n")
    .flatMap((line) => {
      const colon = line.indexOf(":", 1);
      return colon === -1 ? [line.toLowerCase(), ""] : [line.slice(0, colon).toLowerCase(), line.slice(colon + 1)];
    });
  const head = parseRequestHead(raw, true);
  if (!head.ok) {
    must(head.status >= 400, "a refusal without a status", head);
    return;
  }
  const { rawHeaders } = head;
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  mustEqual(
    names.filter((name) => name === "host"),
    ["host"],
    "not one Host",
  );
  must(names.filter((name) => name === "cookie").length < 2, "two Cookies", names);
  must(
    !names.some((name) => name.startsWith(":") && raw.includes(name) && isPseudo(name)),
    "a pseudo-header goes on",
    names,
  );
  mustEqual(rawHeaders.length, head.headerTraits.length * 2, "traits of other headers");
  const again = canonicalTarget(head.path + head.query, head.host, "443");
  must(again.ok && again.path === head.path && again.host === head.host, "its form is not its own form", head);
}

const isPseudo = (name: string): boolean => [":method", ":scheme", ":authority", ":path", ":protocol"].includes(name);
