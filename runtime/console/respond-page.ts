/** A screen's page within the frame of the console, as an answer. */
import { redirect, respondHtml } from "../http/respond.ts";
import type { Site } from "../identity/sites.ts";
import {
  consoleHeaders,
  consolePage,
  type FrameStatus,
  NAVIGATION_GROUPS,
  type NavigationGroup,
} from "../pages/console/frame.ts";
import { nameOf } from "../identity/principal.ts";
import { html } from "../pages/html.ts";
import { rolesText } from "./rights.ts";
import type { ConsoleRights, Screen, ScreenPage, ConsoleRequest } from "./screen.ts";
import { scriptPath, stylePath } from "./assets.ts";
import { showUntrusted } from "./show-untrusted.ts";
import type { FlashMessage } from "./flash-message.ts";
import { CONSOLE_PATH } from "./console-requests.ts";
import { SEARCH_PATH } from "./search/search.ts";
import type { ConsoleStatus } from "./overview/status.ts";

export interface Pages {
  show(
    visit: ConsoleRequest,
    site: Site,
    screen: Screen | undefined,
    page: ScreenPage,
    refused?: string,
  ): Promise<void>;
  /** 303, and says what was done on the page it leads to. */
  goOn(visit: ConsoleRequest, site: Site, to: string, told: string): void;
}

export interface ConsolePagesDeps {
  readonly screens: readonly Screen[];
  readonly told: FlashMessage;
  /** Name of the environment. */
  readonly environment: string | undefined;
  /** Undefined: the frame shows no counts. */
  readonly status: Pick<ConsoleStatus, "frame"> | undefined;
}

export function createPages(deps: ConsolePagesDeps): Pages {
  return {
    async show(visit, site, screen, { title, lead, aside, body, status = 200, scripts: more = [], stream }, refused) {
      const { exchange, principal, rights } = visit;
      const waits = await deps.status?.frame(visit);
      const told = deps.told.take(exchange, principal);
      const style = stylePath(exchange.branding);
      const scripts = ["time", ...more].map(scriptPath);
      const page = consolePage({
        title,
        lead,
        aside,
        body,
        told,
        refused,
        environment: deps.environment,
        style,
        scripts,
        person: showUntrusted(nameOf(principal.user)),
        roles: rolesText(rights),
        navigation: navigationOf(deps.screens, screen, rights, waits?.counts),
        active: waits?.active,
        search: screen?.path === SEARCH_PATH ? visit.query.get("q") : undefined,
      });
      // Its worker is a script that no element of the page names.
      const allowed = stream === undefined ? scripts : [...scripts, scriptPath("live-worker")];
      respondHtml(exchange, status, page, [
        ...consoleHeaders(exchange, site.origin, { style, scripts: allowed, stream }),
        ...(told === undefined ? [] : ["set-cookie", deps.told.clear(site)]),
      ]);
    },
    goOn({ exchange, principal }, site, to, told) {
      redirect(exchange, 303, site.origin + to, ["set-cookie", deps.told.set(told, principal, site)]);
    },
  };
}

/** Screens that have something for this administrator. */
function navigationOf(
  screens: readonly Screen[],
  shown: Screen | undefined,
  rights: ConsoleRights,
  counts: FrameStatus["counts"] = new Map(),
): readonly NavigationGroup[] {
  const seen = screens.filter((each) => each.isHidden !== true && (each.isFor?.(rights) ?? true));
  return NAVIGATION_GROUPS.map((name) => ({
    name,
    entries: seen
      .filter(({ group }) => group === name)
      .map((each) => ({
        href: screenPath(each),
        name: each.name,
        icon: each.icon,
        isCurrent: each === shown,
        count: counts.get(each.path),
      })),
  })).filter(({ entries }) => entries.length > 0);
}

export function screenPath({ path }: Screen): string {
  return `${CONSOLE_PATH}/${path}`;
}

export const UNREADABLE: ScreenPage = {
  title: "Invalid address",
  status: 400,
  body: html`<p>A parameter appears twice or has invalid characters.</p>`,
};

export const NOTHING_HERE: ScreenPage = {
  title: "Page not found",
  status: 404,
  body: html`<p>Not found, expired, or not visible to your role.</p>`,
};
