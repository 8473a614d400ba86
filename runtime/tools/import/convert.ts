/** A Pomerium configuration → an equivalent slice, with notes on the differences. */
import { isRecord, type Members } from "../../shared/is-record.ts";
import { readSource } from "../../settings/source.ts";
import { formatProblem, formatPath } from "../../settings/problem.ts";
import type { Note, ImportReport, Converted } from "./note.ts";
import { convertSettings } from "./settings.ts";
import { convertSlice, isSlice } from "./slice.ts";
import { derivedName } from "../../config/canonical.ts";
import { parseFrom } from "../../features/routing/from.ts";
import { loadSlices } from "../../config/load.ts";
import { routeNameProblem } from "../../features/routing/settings.ts";
import { GatewayError } from "../../shared/errors.ts";
import { bootDocument } from "./boot-document.ts";
import { convertBoot, isBootKey } from "./boot.ts";
import { convertRoute } from "./route.ts";

/** Name of the main configuration file in messages. */
const BOOT_FILE = "gateway.yaml";

/**
 * @param owner of a converted Pomerium configuration; a slice has its own
 * @param hasBoot whether the main configuration file is also generated, with the dynamic settings in it
 * @throws GatewayError `import.unreadable` when the text is not a configuration
 */
export function convertConfig(file: string, text: string, owner: string, hasBoot: boolean): Converted {
  const source = readSource(file, text);
  if (source.problems.length > 0) throw unreadable(source.problems.map(formatProblem).join("\n"));
  if (!isRecord(source.value)) throw unreadable(`${file}: is not a block of settings and routes`);
  const config = source.value;
  if (isSlice(config)) return convertSlice(config);
  const notes: Note[] = [];
  const report: ImportReport = (kind, where, note) => void notes.push({ kind, where, text: note });

  const routes = convertRoutes(config, report);
  const settings = convertSettings(config, Object.values(routes), report);
  // Notes about the main configuration file would be noise if it is not generated.
  const boot = hasBoot ? convertBoot(config, report) : {};
  const leftForBoot = hasBoot ? [] : Object.keys(config).filter(isBootKey);
  const converted = { owner, isPublished: false, settings, boot, leftForBoot, routes, notes };
  return { ...converted, problems: problemsOf(converted, hasBoot) };
}

/** Problems that a gateway would find; if the main configuration file is generated, routes are validated with it. */
function problemsOf(converted: Omit<Converted, "problems">, hasBoot: boolean): string[] {
  const { owner, settings, routes } = converted;
  const slice = { version: 1, owner, ...(!hasBoot && { settings }), routes };
  const { problems } = loadSlices([
    ...(hasBoot ? [{ file: BOOT_FILE, text: JSON.stringify(bootDocument(converted)), boot: true }] : []),
    { file: "", text: JSON.stringify(slice), boot: false },
  ]);
  return problems
    .filter(({ severity }) => severity === "error")
    .map(({ file, path, message }) => `${file === "" ? "" : `${file}: `}"${formatPath(path)}" ${message}`);
}

function convertRoutes(config: Members, report: ImportReport): Record<string, Members> {
  // "policy" is an older name of the list; in Pomerium its routes come first.
  const list = [...routeList(config, "policy"), ...routeList(config, "routes")];
  const routes: Record<string, Members> = {};
  const reached: Members[] = [];
  for (const [at, route] of list.entries()) {
    const name = uniqueName(route, at, routes, report);
    const taker = reached.find((earlier) => takesAll(earlier, route));
    if (taker) {
      const what = `the whole route, because an earlier one receives all its requests there (${matchText(taker)})`;
      report("lost", `route "${name}"`, what);
      continue;
    }
    reached.push(route);
    const converted = convertRoute(route, name, report);
    if (converted) routes[converted.name] = converted.doc;
  }
  warnOfOrder(reached, report);
  return routes;
}

/** A list of routes, or its text: YAML, or Base64 of YAML as in environment variables. */
function routeList(config: Members, key: "policy" | "routes"): readonly Members[] {
  const written = config[key] ?? [];
  const list = typeof written === "string" ? listInText(written) : written;
  if (!Array.isArray(list)) {
    const isText = typeof written === "string";
    throw unreadable(isText ? `"${key}" is text without a list of routes` : `"${key}" is not a list`);
  }
  return list.map((route: unknown, at) => {
    if (!isRecord(route)) throw unreadable(`"${formatPath([key, at])}" is not a block`);
    return route;
  });
}

function listInText(text: string): unknown {
  const isBase64 = /^[A-Za-z0-9+/\s]+=*\s*$/.test(text);
  return readSource("", isBase64 ? Buffer.from(text, "base64").toString() : text).value;
}

/** Whether the earlier route takes all requests of the later one: in Pomerium the first matching route wins. */
function takesAll(earlier: Members, later: Members): boolean {
  if (earlier["from"] !== later["from"] || !isWebAddress(earlier["from"])) return false;
  const [first, second] = [matchOf(earlier), matchOf(later)];
  if (first.kind === second.kind && first.text === second.text) return true;
  if (first.kind !== "prefix") return false;
  if (first.text === "/") return true;
  const below = first.text.endsWith("/") ? first.text : `${first.text}/`;
  return second.kind !== "regex" && second.text.startsWith(below);
}

function isWebAddress(from: unknown): boolean {
  return typeof from === "string" && /^https?:\/\//.test(from);
}

/** Pomerium's precedence: a pattern before a path before a prefix. */
function matchOf(route: Members): { readonly kind: "regex" | "path" | "prefix"; readonly text: string } {
  for (const kind of ["regex", "path", "prefix"] as const) {
    const text = route[kind];
    if (typeof text === "string" && text !== "") return { kind, text };
  }
  return { kind: "prefix", text: "/" };
}

function matchText(route: Members): string {
  const { kind, text } = matchOf(route);
  return typeof route["name"] === "string" ? `"${route["name"]}"` : `${kind} "${text}"`;
}

function uniqueName(
  route: Members,
  at: number,
  taken: Readonly<Record<string, unknown>>,
  report: ImportReport,
): string {
  const text = (key: string): string | undefined => (typeof route[key] === "string" ? route[key] : undefined);
  const written = text("name");
  const from = parseFrom(text("from") ?? "");
  const [prefix, path, regex] = [text("prefix"), text("path"), text("regex")];
  const place = {
    ...(prefix !== undefined && { prefix }),
    ...(path !== undefined && { path }),
    ...(regex !== undefined && { regex }),
  };
  const derived = from.ok ? derivedName(place, from.value.host) : undefined;
  const preferred = written ?? derived ?? `route-${at + 1}`;
  let name =
    routeNameProblem(preferred) === undefined
      ? preferred
      : preferred.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[-._]+|[-._]+$/g, "");
  for (let count = 2; name in taken; count += 1) name = `${name.replace(/-\d+$/, "")}-${count}`;
  if (written !== undefined && name !== written) report("differs", `route "${written}"`, `its name is "${name}" here`);
  return name;
}

/** In Pomerium the first matching route wins, here the most specific one. */
function warnOfOrder(routes: readonly Members[], report: ImportReport): void {
  const hosts = routes.map(({ from }) => String(from));
  const shared = new Set(hosts.filter((host, at) => hosts.indexOf(host) !== at));
  for (const host of shared) {
    report("differs", host, "several routes: the most specific one wins here, the first one that matches there");
  }
}

function unreadable(reason: string): GatewayError {
  return new GatewayError("import.unreadable", `Cannot import the configuration: ${reason}`);
}
