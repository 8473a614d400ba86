/**
 * Pomerium's header values → ours.
 *
 * Pomerium's syntax has `$$`, `${name.name["text"]}` with blanks around the parts, and the older `$name.name`. It sends
 * unreadable text unchanged, and an unknown reference as empty text. Ours rejects both, so each case is decided here.
 */
import { isHeaderName } from "../../shared/http/header-syntax.ts";

export type ConvertedTemplate =
  | { readonly ok: true; readonly text: string }
  /** References without a counterpart, as written. */
  | { readonly ok: false; readonly unknown: readonly string[] };

/** Tokens with the same name in both products. */
const TOKENS: ReadonlySet<string> = new Set(["access_token", "id_token", "client_cert_fingerprint", "jwt"]);

const ESCAPED = String.raw`"(?:[^"\\]|\\[^])*"`;
const NAME = "[A-Za-z0-9_-]+";
const BLANK = String.raw`[ \t]*`;
const INDEX = String.raw`\[${BLANK}${ESCAPED}${BLANK}\]`;
const PART = new RegExp(
  [
    String.raw`\$\$`,
    String.raw`\$\{${BLANK}(?<braced>${NAME}(?:${BLANK}(?:\.${BLANK}${NAME}|${INDEX}))*)${BLANK}\}`,
    String.raw`\$(?<bare>${NAME}(?:\.${NAME})*)`,
    String.raw`\$`,
  ].join("|"),
  "g",
);
const STEP = new RegExp(`(?<name>${NAME})|(?<quoted>${ESCAPED})`, "g");

export function convertTemplate(text: string): ConvertedTemplate {
  const unknown: string[] = [];
  const converted = text.replaceAll(PART, (part: string, ...found: unknown[]) => {
    const { braced, bare } = found.at(-1) as { braced?: string; bare?: string };
    const reference = braced ?? bare;
    if (reference === undefined) return "$$";
    const ours = counterpart(stepsOf(reference));
    if (ours === undefined) unknown.push(part);
    return ours ?? "";
  });
  return unknown.length > 0 ? { ok: false, unknown } : { ok: true, text: converted };
}

/** `a.b["c"]` → its parts; Pomerium treats a quoted and a plain part alike. */
function stepsOf(reference: string): readonly string[] {
  return [...reference.matchAll(STEP)].map(({ groups }) => {
    const { name, quoted = "" } = groups as { name?: string; quoted?: string };
    return name ?? quoted.slice(1, -1).replaceAll(/\\([^])/g, "$1");
  });
}

function counterpart([root, ...steps]: readonly string[]): string | undefined {
  if (root !== "pomerium") return undefined;
  const [first = "", second, header = ""] = steps;
  if (steps.length === 1 && TOKENS.has(first)) return `\${gateway.${first}}`;
  const isHeader = steps.length === 3 && first === "request" && second === "headers" && isHeaderName(header);
  return isHeader ? `\${gateway.request.headers["${header}"]}` : undefined;
}

/** Response headers have no substitutions, and ours reads `$$` as `$`. */
export function convertLiteral(text: string): string {
  return text.replaceAll("$", "$$$$");
}
