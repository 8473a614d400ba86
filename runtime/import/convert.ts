/** A Pomerium configuration → the slice that means the same, and what to know about the difference. */
import { derivedName } from "../config/canonical.ts";
import { formatPath, isMembers, type Members } from "../config/problem.ts";
import { loadSlices } from "../config/load.ts";
import { routeNameWish } from "../config/route.ts";
import { readSource } from "../config/source.ts";
import { formatProblem } from "../config/problem.ts";
import { GatewayError } from "../errors.ts";
import type { Note, Report } from "./note.ts";
import { convertRoute } from "./route.ts";
import { convertSettings } from "./settings.ts";

export interface Converted {
  readonly owner: string;
  readonly settings: Members;
  /** By route name. */
  readonly routes: Readonly<Record<string, Members>>;
  readonly notes: readonly Note[];
  /** What a gateway would refuse in the result; never empty of meaning, so it is written all the same. */
  readonly problems: readonly string[];
}

/** @throws GatewayError `import.unreadable` when the text is no configuration */
export function convertConfig(file: string, text: string, owner: string): Converted {
  const source = readSource(file, text);
  if (source.problems.length > 0) throw unreadable(source.problems.map(formatProblem).join("\n"));
  if (!isMembers(source.value)) throw unreadable(`${file}: is no block of settings and routes`);
  const config = source.value;
  const notes: Note[] = [];
  const report: Report = (kind, where, note) => void notes.push({ kind, where, text: note });

  const routes = convertRoutes(config, report);
  const hasMcpRoutes = Object.values(routes).some(({ mcp }) => mcp !== undefined);
  const settings = convertSettings(config, hasMcpRoutes, report);
  const slice = { version: 1, owner, settings, routes };
  const { problems } = loadSlices([{ file: "", text: JSON.stringify(slice), boot: false }]);
  return {
    owner,
    settings,
    routes,
    notes,
    problems: problems
      .filter(({ severity }) => severity === "error")
      .map(({ path, message }) => `"${path}" ${message}`),
  };
}

function convertRoutes(config: Members, report: Report): Record<string, Members> {
  // "policy" is what the list was called once.
  const list = config["routes"] ?? config["policy"] ?? [];
  if (!Array.isArray(list)) throw unreadable('"routes" is no list');
  const routes: Record<string, Members> = {};
  for (const [at, route] of list.entries()) {
    if (!isMembers(route)) throw unreadable(`"${formatPath(["routes", at])}" is no block`);
    const converted = convertRoute(route, uniqueName(route, at, routes, report), report);
    if (converted) routes[converted.name] = converted.doc;
  }
  warnOfOrder(list as readonly Members[], report);
  return routes;
}

function uniqueName(route: Members, at: number, taken: Readonly<Record<string, unknown>>, report: Report): string {
  const text = (key: string): string | undefined => (typeof route[key] === "string" ? route[key] : undefined);
  const written = text("name");
  const [from, prefix, path, regex] = [text("from"), text("prefix"), text("path"), text("regex")];
  const derived = derivedName({
    ...(from !== undefined && { from }),
    ...(prefix !== undefined && { prefix }),
    ...(path !== undefined && { path }),
    ...(regex !== undefined && { regex }),
  });
  const wished = written ?? derived ?? `route-${at + 1}`;
  let name =
    routeNameWish(wished) === undefined
      ? wished
      : wished.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[-._]+|[-._]+$/g, "");
  for (let count = 2; name in taken; count += 1) name = `${name.replace(/-\d+$/, "")}-${count}`;
  if (written !== undefined && name !== written) report("differs", `route "${written}"`, `its name is "${name}" here`);
  return name;
}

/** There the first route that matches wins, here the most specific one. */
function warnOfOrder(routes: readonly Members[], report: Report): void {
  const hosts = routes.map(({ from }) => String(from));
  const shared = new Set(hosts.filter((host, at) => hosts.indexOf(host) !== at));
  for (const host of shared) {
    report("differs", host, "several routes: the most specific one wins here, the first one that matches there");
  }
}

function unreadable(reason: string): GatewayError {
  return new GatewayError("import.unreadable", `Cannot import the configuration: ${reason}`);
}
