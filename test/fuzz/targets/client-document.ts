/** Client documents and registrations: where a client's answers may go, by URL parsers too. */
import { parseClientDocument, parseClientIdUrl } from "../../../runtime/oauth/server/clients/client-document.ts";
import { parseClientMetadata } from "../../../runtime/oauth/server/clients/client-metadata.ts";
import { matchesRedirectUri } from "../../../runtime/oauth/server/clients/redirect-uri.ts";
import { parseDomainPattern } from "../../../runtime/settings/domains.ts";
import { isRecord } from "../../../runtime/shared/is-record.ts";
import { jsonOf, must, mustEqual, utf8 } from "../oracle.ts";

const ID = "https://client.example.com/document.json";
const rules = {
  allowedPrivateUris: ["com.example.app:/callback"],
  documentDomains: [parseDomainPattern("client.example.com")],
};

export function fuzz(data: Uint8Array): void {
  const value = jsonOf(utf8(data));
  const claimed = isRecord(value) ? value["client_id"] : undefined;
  if (typeof claimed === "string") {
    const url = parseClientIdUrl(claimed);
    if (url.ok) {
      const { protocol, hostname, username, hash, pathname } = new URL(claimed);
      mustEqual([protocol, username, hash], ["https:", "", ""], "a client id that URL reads in another way");
      must(hostname === url.host && pathname !== "/", "its host or path is another one to URL", claimed);
    }
  }
  const document = parseClientDocument(ID, value, rules);
  const registered = parseClientMetadata(value, { ...rules, defaultAuthMethod: "client_secret_basic" });
  must(!document.ok || claimed === ID, "a document of another client", claimed);
  for (const each of [document, registered]) {
    if (!each.ok) continue;
    const { redirect_uris: uris, jwks_uri: keys } = each.value;
    must(uris.length > 0, "a client without a redirect URI");
    for (const uri of uris) {
      const { protocol, hostname, hash, username } = new URL(uri);
      const isLoopback = protocol === "http:" && ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
      must(
        protocol === "https:" || isLoopback || rules.allowedPrivateUris.includes(uri),
        "a redirect URI to elsewhere",
        uri,
      );
      mustEqual([hash, username], ["", ""], "a redirect URI with more in it");
      must(matchesRedirectUri(uris, uri), "what was registered does not match", uri);
    }
    must(keys === undefined || new URL(keys).hostname === "client.example.com", "keys from elsewhere", keys);
  }
}
