/** Compiles the settings that describe a route. */
import { accepted } from "../../settings/values.ts";
import type { RouteAbout } from "./compiled.ts";
import { parseIcon } from "./icon.ts";
import type { AboutDoc } from "./settings.ts";

/** @param name of the route */
export function compileAbout(doc: AboutDoc, name: string): RouteAbout {
  return {
    title: doc.title ?? name,
    description: doc.description,
    icon: doc.icon === undefined ? undefined : accepted(parseIcon(doc.icon)),
    version: doc.version,
    documentationUrl: doc.documentation_url,
    contact: doc.contact,
    isPublic: doc.catalog === "public",
  };
}
