/**
 * MCP servers as the catalog lists them: name, description and address of each, and who finds it.
 *
 * Promises: an entry is a function of its route alone, so that other routes never rename a server. It has public addresses
 * only.
 */
import { createHash } from "node:crypto";

import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { iconPath } from "../features/catalog/icon.ts";
import { HAND_WRITTEN_OWNER } from "../features/process/owners.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { User } from "../identity/principal.ts";
import { mayReachSomething } from "../policy/reach.ts";

export interface CatalogEntry {
  /** "com.example.wiki/main": reversed host, then owner and name of the route. */
  readonly name: string;
  readonly route: CompiledRoute;
  /** Members that server.json and server cards have in common. */
  readonly about: EntryAbout;
}

export interface EntryAbout {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly { readonly src: string; readonly mimeType: string }[];
  readonly remotes: readonly { readonly type: "streamable-http"; readonly url: string }[];
}

/** A reader of the catalog. */
export interface Reader {
  /** Undefined: not signed in. */
  readonly user: User | undefined;
}

/** Limits of server.json. */
const MAX_NAME = 200;
const MAX_DESCRIPTION = 100;

const known = new WeakMap<readonly CompiledRoute[], readonly CatalogEntry[]>();

/** All servers, sorted by name. */
export function entriesOf({ routes }: Pick<Snapshot, "routes">): readonly CatalogEntry[] {
  let entries = known.get(routes);
  if (!entries) {
    entries = routes.flatMap(entryOf).sort((one, other) => (one.name < other.name ? -1 : 1));
    known.set(routes, entries);
  }
  return entries;
}

/** Whether a reader finds a server: some message to it could be allowed, or everyone may find it. */
export function mayFind(blocks: Pick<Blocks, "find">, { user }: Reader, { route }: CatalogEntry): boolean {
  if (blocks.find({ routeKey: route.key })) return false;
  return user === undefined ? route.about.isPublic : mayReachSomething(route.policy, user);
}

function entryOf(route: CompiledRoute): readonly CatalogEntry[] {
  if (route.mcp?.kind !== "server") return [];
  const { about } = route;
  const name = registryName(route);
  const icon = about.icon && { src: route.origin + iconPath(about.icon), mimeType: about.icon.type };
  return [
    {
      name,
      route,
      about: {
        name,
        title: about.title,
        description: shortened(about.description ?? about.title),
        version: about.version ?? "1.0.0",
        ...(about.documentationUrl !== undefined && { websiteUrl: about.documentationUrl }),
        // The registry accepts https only.
        ...(icon?.src.startsWith("https://") === true && { icons: [icon] }),
        remotes: [{ type: "streamable-http", url: route.mcp.resource }],
      },
    },
  ];
}

/** Host and key decide: names of routes without a dot stay as they are, others get a digest, so that no two are the same. */
function registryName({ hostname, owner, name, key }: CompiledRoute): string {
  const host = hostname
    .replace(/[^A-Za-z0-9.-]/g, "-")
    .split(".")
    .reverse()
    .join(".");
  const isPlain = /^[A-Za-z0-9_-]+$/.test(name);
  const local = isPlain ? name : `${name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-|-$/g, "")}.${digestOf(key)}`;
  const whole = `${host}/${owner === HAND_WRITTEN_OWNER ? "" : `${owner.replace(/[^A-Za-z0-9._-]/g, "-")}.`}${local}`;
  return whole.length <= MAX_NAME ? whole : `${host.slice(0, MAX_NAME / 2)}/${digestOf(`${hostname} ${key}`)}`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Cut between characters. */
function shortened(text: string): string {
  if (text.length <= MAX_DESCRIPTION) return text;
  const characters: string[] = [];
  let length = 0;
  for (const character of text) {
    if (length + character.length > MAX_DESCRIPTION - 1) break;
    characters.push(character);
    length += character.length;
  }
  return `${characters.join("").trimEnd()}…`;
}
