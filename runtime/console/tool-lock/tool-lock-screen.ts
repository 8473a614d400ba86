/**
 * Tools and other locked items, as reviewed and as servers list them: the differences word by word, and the updated lock for
 * reviewers. Nothing is applied here: the lock is part of the configuration.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import { itemKey, keyLabel, kindOfKey, type LockedKind } from "../../features/mcp/locked-items.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { formatToolLock, toolOf, type LockedTool } from "../../features/mcp/tool-lock-file.ts";
import { toolLockOf, type ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import { lockListBody, lockRouteBody, type LockedToolRow } from "../../pages/console/safety/tool-lock.ts";
import { respondText } from "../../http/respond.ts";
import { parseExactJson } from "../../shared/json/exact-json.ts";
import { addressOfId, idOfPath } from "../addresses.ts";
import { visibleRoutes } from "../servers/list-servers.ts";
import type { Screen, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { itemChanges } from "./item-changes.ts";

export interface ToolLockScreenDeps {
  readonly toolLocks: Pick<ToolLocks, "differences" | "definitionOf" | "stateOf">;
}

const SCREEN = "tool-lock";
const FILE = "lock.json";
const MOST_ROUTES = 500;
const MOST_TOOLS = 500;

interface Locked {
  readonly route: CompiledRoute;
  readonly lock: ToolLock;
  readonly address: string;
}

export function toolLockScreen({ toolLocks }: ToolLockScreenDeps): Screen {
  const showList = (visit: ConsoleRequest): ScreenPage => {
    const all = lockedRoutes(visit);
    const rows = all.slice(0, MOST_ROUTES).map(({ route, lock, address }) => {
      const { changed, unlocked } = toolLocks.differences(route);
      return {
        href: addressOfId(SCREEN, route.key),
        route: showUntrusted(route.key),
        address: showUntrusted(address),
        locked: lock.items.size,
        changed: changed.size,
        added: unlocked.size,
        onDrift: lock.onDrift,
      };
    });
    return { title: "Tool lock", body: lockListBody({ rows, isCut: all.length > rows.length }) };
  };

  const showRoute = (locked: Locked): ScreenPage => {
    const { route, lock, address } = locked;
    const { changed, unlocked } = toolLocks.differences(route);
    const keys = [...lock.items.keys()].sort();
    const stateOf = (key: string): LockedToolRow["state"] => {
      if (changed.has(key)) return "changed";
      return toolLocks.stateOf(route, lock, key, "") === "unseen" ? "missing" : "locked";
    };
    const rows: LockedToolRow[] = [
      ...[...unlocked].sort().map((key) => ({ tool: showUntrusted(keyLabel(key)), state: "new" as const })),
      ...keys.map((key) => ({ tool: showUntrusted(keyLabel(key)), state: stateOf(key) })),
    ].toSorted((a, b) => ORDER[a.state] - ORDER[b.state]);
    const listed = listedNow(toolLocks, locked);
    const { items, isCut } = itemChanges(lock, listed.changed);
    return {
      title: `Tools of ${showUntrusted(route.name)}`,
      body: lockRouteBody({
        address: showUntrusted(address),
        onDrift: lock.onDrift,
        rows: rows.slice(0, MOST_TOOLS),
        isCut: rows.length > MOST_TOOLS,
        changes: items,
        isLong: isCut,
        isWhole: listed.unknown.length === 0,
        unknown: listed.unknown.slice(0, 20).map((key) => showUntrusted(keyLabel(key))),
        command: `gateway tools diff FILE --url ${showUntrusted(address)}`,
        exportHref: canExport(locked, listed) ? `${addressOfId(SCREEN, route.key)}/${FILE}` : undefined,
        back: `/.gateway/console/${SCREEN}`,
      }),
    };
  };

  return {
    path: SCREEN,
    name: "Tool lock",
    group: "Policy",
    icon: "lock",
    show(visit) {
      const key = idOfPath(visit.path);
      if (key === undefined) return Promise.resolve(showList(visit));
      const found = lockedRoutes(visit).find(({ route }) => route.key === key);
      return Promise.resolve(found && showRoute(found));
    },
    respond(visit) {
      if (visit.path.at(-1) !== FILE || visit.exchange.method !== "GET") return Promise.resolve(false);
      const key = idOfPath(visit.path.slice(0, -1));
      const found = lockedRoutes(visit).find(({ route }) => route.key === key);
      const listed = found && listedNow(toolLocks, found);
      if (!found || !listed || !canExport(found, listed)) return Promise.resolve(false);
      const text = formatToolLock(new Map([[found.address, { kinds: found.lock.kinds, items: listed.tools }]]));
      respondText(visit.exchange, 200, text, [
        "content-disposition",
        'attachment; filename="tools.lock.json"',
        "cache-control",
        "no-store",
      ]);
      return Promise.resolve(true);
    },
  };
}

const ORDER: Readonly<Record<LockedToolRow["state"], number>> = { changed: 0, new: 1, missing: 2, locked: 3 };

function lockedRoutes(visit: ConsoleRequest): readonly Locked[] {
  return visibleRoutes(visit)
    .flatMap((route) => {
      const lock = toolLockOf(route);
      const address = route.mcp?.kind === "server" ? route.mcp.resource : "";
      return lock ? [{ route, lock, address }] : [];
    })
    .toSorted((a, b) => (a.route.key < b.route.key ? -1 : 1));
}

interface Listed {
  /** As reviewed; those that differ as listed, if that is known here. */
  readonly tools: readonly LockedTool[];
  readonly changed: readonly LockedTool[];
  /** Keys of differences that only other processes know. */
  readonly unknown: readonly string[];
}

function listedNow(toolLocks: ToolLockScreenDeps["toolLocks"], { route, lock }: Locked): Listed {
  const { changed, unlocked } = toolLocks.differences(route);
  const different = new Set([...changed, ...unlocked]);
  const known = [...different].flatMap((key) => {
    const read = readTool(toolLocks.definitionOf(route, key), kindOfKey(key));
    return read && keyOf(read) === key ? [read] : [];
  });
  const knownKeys = new Set(known.map(keyOf));
  return {
    tools: [...(lock.reviewed ?? []).filter((tool) => !different.has(keyOf(tool))), ...known],
    changed: known,
    unknown: [...different].filter((key) => !knownKeys.has(key)),
  };
}

function keyOf({ kind, name }: LockedTool): string {
  return itemKey(kind, name);
}

function readTool(text: string | undefined, kind: LockedKind): LockedTool | undefined {
  const definition = text === undefined ? undefined : parseExactJson(text);
  return definition === undefined ? undefined : toolOf(definition, kind);
}

/** Only if all is known: a lock without a tool denies it. */
function canExport({ lock }: Locked, { changed, unknown }: Listed): boolean {
  return lock.reviewed !== undefined && changed.length > 0 && unknown.length === 0;
}
