/**
 * Pomerium's header values → ours. Theirs knows `$$`, `${name.path["key"]}` and bare `$name.path`, leaves what it cannot
 * read as it stands and makes unknown references empty; ours refuses both, so each is decided here.
 */
const PART =
  /\$\$|\$\{\s*([A-Za-z0-9_-]+(?:\s*(?:\.\s*[A-Za-z0-9_-]+|\[\s*"(?:[^"\\]|\\.)*"\s*\]))*)\s*\}|\$([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)|\$/g;

const TOKENS: Readonly<Record<string, string>> = {
  "pomerium.access_token": "gateway.access_token",
  "pomerium.id_token": "gateway.id_token",
  "pomerium.client_cert_fingerprint": "gateway.client_cert_fingerprint",
  "pomerium.jwt": "gateway.jwt",
};
const REQUEST_HEADER = /^pomerium\.request\.headers(?:\["([^"\\]+)"\]|\.([A-Za-z0-9_-]+))$/;

/** @param unknown called with each reference that has no counterpart; it becomes empty text, as it does there */
export function convertTemplate(text: string, unknown: (reference: string) => void): string {
  return text.replaceAll(PART, (part: string, braced?: string, bare?: string) => {
    const reference = (braced ?? bare)?.replaceAll(/\s+/g, "");
    if (reference === undefined) return "$$";
    const token = TOKENS[reference];
    if (token !== undefined) return `\${${token}}`;
    const [, quoted, dotted] = REQUEST_HEADER.exec(reference) ?? [];
    const header = quoted ?? dotted;
    if (header !== undefined) return `\${gateway.request.headers["${header}"]}`;
    unknown(part);
    return "";
  });
}

/** In response headers there is nothing to substitute, and ours reads `$$` as `$`. */
export function convertLiteral(text: string): string {
  return text.replaceAll("$", "$$$$");
}
