/** Settings that describe a route to its users, and where MCP servers are listed. */
import { quote } from "../../settings/problem.ts";
import { displayNameProblem, quotedProblem } from "../../settings/types/checks.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { choice, text, url } from "../../settings/types/scalar.ts";
import { parseHttpUrl, type Reading } from "../../settings/values.ts";
import { parseSupportUrl } from "../sign-in/settings.ts";
import { parseIcon } from "./icon.ts";

/** Limit of the registry's `server.json`. */
const MAX_URL_CHARACTERS = 255;

export const aboutShape = {
  title: text({
    doc: "Display name of up to 40 characters. Shown on the portal and in the catalog.",
    unset: "`name`",
    annotation: "title",
    check: displayNameProblem,
  }),
  description: text({
    doc: "What the route is for, in one line of up to 300 characters. Shown on the portal and in the catalog, which has the first 100.",
    unset: "none",
    annotation: "description",
    check: descriptionProblem,
  }),
  icon: text({
    doc: "Icon: a PNG, JPEG or WebP image of up to 16,384 bytes as `data:image/png;base64,…`. Shown on the portal and in the catalog.",
    unset: "two letters of the name",
    annotation: "icon",
    // The value is too long for a message.
    check: (value) => {
      const parsed = parseIcon(value);
      return parsed.ok ? undefined : `is ${quote(value.slice(0, 24))}…, ${parsed.problem}`;
    },
  }),
  version: text({
    doc: "Version of what the route serves in the catalog, such as `1.4.2`.",
    unset: "`1.0.0`",
    annotation: "version",
    check: versionProblem,
  }),
  documentation_url: url({
    doc: "Documentation for users (`https://`). Linked on the portal and in the catalog.",
    unset: "none",
    annotation: "documentation_url",
    read: httpsUrl,
  }),
  contact: url({
    doc: "Page (`https://`) or address (`mailto:`) for questions about the route. Linked on the portal.",
    unset: "none",
    annotation: "contact",
    read: parseSupportUrl,
  }),
  catalog: choice(["users", "public"], {
    doc: "Readers who find an MCP server in the catalog: callers with a token, if the policy could allow them a request, or also callers without a token. The latter need `mcp_catalog: public`.",
    default: "users",
    annotation: "catalog",
  }),
};

export const catalogSettingsShape = {
  mcp_catalog: choice(["users", "public"], {
    doc: "Readers of the catalog of MCP servers, which clients find at `/.gateway/registry`: callers with a token of a service account or a programmatic login, or also callers without a token. The latter see routes with `catalog: public`.",
    unset: "no catalog",
  }),
};

/** Descriptive settings of a route. */
export type AboutDoc = ShapeDoc<typeof aboutShape>;

function descriptionProblem(text: string): string | undefined {
  if (text.length > 300) return "is longer than 300 characters";
  return /\p{Cc}/u.test(text) ? "must be one line, without control characters" : undefined;
}

/** The registry rejects ranges. */
function versionProblem(text: string): string | undefined {
  const isVersion = /^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$/.test(text) && !/(?:^|\.)[xX](?:\.|$)/.test(text);
  return quotedProblem(text, isVersion ? undefined : 'must be a version such as "1.4.2", not a range');
}

function httpsUrl(text: string): Reading<URL> {
  const parsed = parseHttpUrl(text);
  if (!parsed.ok) return parsed;
  if (parsed.value.protocol !== "https:") return { ok: false, problem: "must start with https://" };
  return text.length > MAX_URL_CHARACTERS
    ? { ok: false, problem: `must have at most ${MAX_URL_CHARACTERS} characters` }
    : parsed;
}
