/** Rules for gateway addresses: errors in a bundle's target, and unsafe choices. */
import { isIPv4 } from "node:net";
import { isAbsolute } from "node:path";

import type { AttributePath, Diagnostic } from "../protocol/diagnostics.ts";
import { isMap, type Value, type ValueMap } from "../protocol/value.ts";
import { GITHUB_REFERENCE } from "./admin-token.ts";

/** @param file the other target, which excludes this one */
export function* httpProblems(http: Value | undefined, file: Value | undefined): Iterable<Diagnostic> {
  if (!isMap(http)) return;
  if (isMap(file)) yield invalidBundle([], 'A bundle is published to "http" or to "file", not to both.');
  for (const { severity, attribute, detail } of addressProblems(http)) {
    const path = blockPath([{ attribute }]);
    if (severity === "warning") yield { severity, summary: `Possible problem at http.${attribute}`, detail, path };
    // Terraform prints the line of a diagnostic, and this one may contain a password, or the token itself.
    else yield { ...invalidBundle([{ attribute }], detail), pointAt: blockPath([]) };
  }
}

interface AddressProblem {
  readonly severity: Diagnostic["severity"];
  readonly attribute: "url" | "token_ref";
  readonly detail: string;
}

/** Problems of an address, and of its token reference. */
function* addressProblems({ url, token_ref: ref }: ValueMap): Iterable<AddressProblem> {
  if (typeof url === "string") {
    const problem = publishUrlProblem(url);
    if (problem !== undefined) yield { severity: "error", attribute: "url", detail: `"url" ${problem}.` };
    else if (!isPrivate(new URL(url))) {
      const detail = `"url" begins with http://, so the admin token crosses the network in clear text; use https:// or a tunnel.`;
      yield { severity: "warning", attribute: "url", detail };
    }
  }
  if (typeof ref === "string" && !isReference(ref) && !isGithubReference(ref)) {
    const detail = '"token_ref" must be "env:NAME", "file:/absolute/path" or "github:AUDIENCE".';
    yield { severity: "error", attribute: "token_ref", detail };
  }
}

/**
 * The same as diagnostics.
 *
 * @param invalid summary of errors @param possible summary of warnings
 */
export function* addressDiagnostics(config: ValueMap, invalid: string, possible: string): Iterable<Diagnostic> {
  for (const { severity, attribute, detail } of addressProblems(config)) {
    const path = [{ attribute }];
    // Terraform prints the line of a diagnostic, and this one may contain a password, or the token itself.
    if (severity === "error") yield { severity, summary: invalid, detail, path, pointAt: [] };
    else yield { severity, summary: possible, detail, path };
  }
}

function isGithubReference(ref: string): boolean {
  return ref.startsWith(GITHUB_REFERENCE) && ref.length > GITHUB_REFERENCE.length;
}

/** The problem of a gateway address; undefined if it is valid. */
export function publishUrlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return "must be an address such as http://127.0.0.1:9901";
  }
  // Not quoted: it contains a password.
  if (url.username !== "" || url.password !== "") return 'must not hold a password, the token is given by "token_ref"';
  if (url.search !== "" || url.hash !== "") return `is ${JSON.stringify(text)}, must have no query and no fragment`;
  return undefined;
}

/** True if others cannot read the traffic. */
function isPrivate({ protocol, hostname }: URL): boolean {
  const isLoopback =
    hostname === "localhost" || hostname === "[::1]" || (isIPv4(hostname) && hostname.startsWith("127."));
  return protocol === "https:" || isLoopback;
}

function isReference(text: string): boolean {
  if (text.startsWith("file:")) return isAbsolute(text.slice("file:".length)) && !text.includes("\0");
  return /^env:[A-Za-z_][A-Za-z0-9_]*$/.test(text);
}

function invalidBundle(path: AttributePath, detail: string): Diagnostic {
  return { severity: "error", summary: "Invalid gateway bundle", detail, path: blockPath(path) };
}

function blockPath(path: AttributePath): AttributePath {
  return [{ attribute: "http" }, ...path];
}
