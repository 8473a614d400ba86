/** The members of the main configuration file: process settings, dynamic settings, and the rights of publishers. */
import { isRecord, type Members } from "../../shared/is-record.ts";
import { routeFields } from "../../config/route.ts";
import { secretUses } from "../../settings/secret-forms.ts";
import { parseTemplate } from "../../features/headers/template.ts";
import { isLoopbackHost, parseUpstream } from "../../settings/values.ts";
import type { Converted } from "./note.ts";

export function bootDocument({
  boot,
  settings,
  owner,
  routes,
}: Pick<Converted, "boot" | "settings" | "owner" | "routes">): Members {
  return { ...boot, ...settings, owners: { [owner]: rightsFor(Object.values(routes)) } };
}

/** Only the rights that the routes need, and no settings: those are in this file. */
function rightsFor(routes: readonly Members[]): Members {
  const references = routes.flatMap((route) =>
    [...secretUses(routeFields, route)].flatMap(({ form, values }) => (form === "ref" ? values : [])),
  );
  const tokens = [
    ...(routes.some(isClientRoute) ? ["external"] : []),
    ...(routes.some(sendsProviderTokens) ? ["provider"] : []),
  ];
  return {
    ...(routes.some(hasLocalUpstream) && { allow_local_upstreams: true }),
    ...(tokens.length > 0 && { allowed_tokens: tokens }),
    ...(references.length > 0 && { allowed_refs: [...new Set(references)].toSorted() }),
  };
}

function isClientRoute({ mcp }: Members): boolean {
  return isRecord(mcp) && mcp["client"] !== undefined;
}

function sendsProviderTokens({ set_request_headers: headers }: Members): boolean {
  return Object.values(isRecord(headers) ? headers : {}).some((text) => {
    if (typeof text !== "string") return false;
    const { needs } = parseTemplate(text);
    return needs.has("access_token") || needs.has("id_token");
  });
}

function hasLocalUpstream({ to }: Members): boolean {
  return (Array.isArray(to) ? to : [to]).some((url: unknown) => {
    const parsed = typeof url === "string" ? parseUpstream(url) : undefined;
    return parsed?.ok === true && isLoopbackHost(parsed.value.url.hostname);
  });
}
