/** Settings that describe a route to its users, and where MCP servers are listed. */
import { quote } from "../../settings/problem.ts";
import { displayNameProblem, quotedProblem } from "../../settings/types/checks.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { text, url } from "../../settings/types/scalar.ts";
import { parseHttpUrl, type Reading } from "../../settings/values.ts";
import { parseSupportUrl } from "../sign-in/settings.ts";
import { parseIcon } from "./icon.ts";

/** Limit of the registry's `server.json`. */
const MAX_URL_CHARACTERS = 255;

export const aboutShape = {
  title: text({
    doc: "Display name of up to 40 characters. Shown on the portal.",
    unset: "`name`",
    annotation: "title",
    check: displayNameProblem,
  }),
  description: text({
    doc: "What the route is for, in one line of up to 300 characters. Shown on the portal.",
    unset: "none",
    annotation: "description",
    check: descriptionProblem,
  }),
  icon: text({
    doc: "Icon: a PNG, JPEG or WebP image of up to 16,384 bytes as `data:image/png;base64,…`. Shown on the portal.",
    unset: "two letters of the name",
    annotation: "icon",
    // The value is too long for a message.
    check: (value) => {
      const parsed = parseIcon(value);
      return parsed.ok ? undefined : `is ${quote(value.slice(0, 24))}…, ${parsed.problem}`;
    },
  }),
  version: text({
    doc: "Version of what the route serves, such as `1.4.2`.",
    unset: "none",
    annotation: "version",
    check: versionProblem,
  }),
  documentation_url: url({
    doc: "Documentation for users (`https://`). Linked on the portal.",
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
