/** Items that need attention, worst first: problems, calls that wait for a decision, tools that differ from their lock. */
import type { WaitingCall } from "../../approvals/waiting.ts";
import type { CompiledRoute } from "../../config/compiled.ts";
import { toolLockOf, type ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import { keyLabel } from "../../features/mcp/locked-items.ts";
import type { HealthProblem } from "../../pages/console/health/health.ts";
import type { Icon } from "../../pages/console/icons.ts";
import type { AttentionRow, WaitingRow } from "../../pages/console/overview.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { showUntrusted } from "../show-untrusted.ts";

const MAX_TEXT = 120;
const MOST_SHOWN = 6;

interface AttentionFacts {
  readonly problems: readonly HealthProblem[];
  readonly pending: readonly WaitingCall[];
  readonly drift: readonly DriftOfRoute[];
  /** Epoch seconds. */
  readonly now: number;
}

export function attentionRows({ problems, pending, drift, now }: AttentionFacts): readonly AttentionRow[] {
  const rows = problems.map(problemRow);
  const bad = rows.filter(({ tone }) => tone === "bad");
  const rest = rows.filter(({ tone }) => tone === "warn");
  return [...bad, ...pendingRows(pending, now), ...drift.map(driftRow), ...rest].slice(0, MOST_SHOWN);
}

function problemRow({ tone, text, details, advice, href, sinceMs }: HealthProblem): AttentionRow {
  const isServer = href?.startsWith("/.gateway/console/servers/") === true;
  return {
    tone,
    icon: isServer ? "servers" : iconOf(href),
    title: cut(text),
    text: details.length === 0 ? advice : cut(details.slice(0, 2).join("; ")),
    sinceMs,
    href: href ?? "/.gateway/console/health#problems",
    button: isServer ? "Open server" : href === undefined ? "Details" : "See errors",
  };
}

function iconOf(href: string | undefined): Icon {
  return href === undefined ? "warning" : "changes";
}

function pendingRows(pending: readonly WaitingCall[], now: number): readonly AttentionRow[] {
  const [first] = pending;
  if (!first) return [];
  const count = pending.length;
  return [
    {
      tone: "warn",
      icon: "approvals",
      title: count === 1 ? "1 call is pending approval" : `${count} calls are pending approval`,
      text: cut(
        `${count === 1 ? "Expires" : "The first expires"} in ${leftText(first.expiresAt - now)}: ${showUntrusted(first.value.tool)}, requested by ${showUntrusted(first.value.userName)}`,
      ),
      sinceMs: Math.min(...pending.map(({ value }) => value.askedAt)) * 1000,
      href: addressOfList("approvals"),
      button: "Review",
    },
  ];
}

export interface DriftOfRoute {
  readonly key: string;
  readonly changed: readonly string[];
  readonly added: number;
}

/** Tools of these routes that differ from the lock. */
export function driftOf(
  routes: readonly CompiledRoute[],
  toolLocks: Pick<ToolLocks, "differences">,
): readonly DriftOfRoute[] {
  return routes.flatMap((route) => {
    if (!toolLockOf(route)) return [];
    const { changed, unlocked } = toolLocks.differences(route);
    return changed.size + unlocked.size === 0
      ? []
      : { key: route.key, changed: [...changed].map(keyLabel), added: unlocked.size };
  });
}

function driftRow({ key, changed, added }: DriftOfRoute): AttentionRow {
  const parts = [
    changed.length > 0 &&
      `changed: ${changed
        .slice(0, 3)
        .map((name) => showUntrusted(name))
        .join(", ")}${changed.length > 3 ? ` and ${changed.length - 3} more` : ""}`,
    added > 0 && `${added} not in the lock`,
  ].filter((part) => part !== false);
  return {
    tone: "warn",
    icon: "lock",
    title: `Tools of ${showUntrusted(key)} differ from the lock`,
    text: cut(parts.join("; ")),
    href: addressOfId("tool-lock", key),
    button: "Compare",
  };
}

/** "14 min", "2 h" */
export function leftText(seconds: number): string {
  const minutes = Math.max(0, Math.ceil(seconds / 60));
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

export function waitingRow({ value, expiresAt, id }: WaitingCall, now: number): WaitingRow {
  return {
    href: addressOfId("approvals", id),
    tool: showUntrusted(value.tool, 60),
    text: `${showUntrusted(value.userName, 60)} · ${showUntrusted(value.routeKey, 60)}`,
    left: `${leftText(expiresAt - now)} left`,
  };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`.toWellFormed();
}
