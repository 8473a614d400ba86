/** A screen's page within the frame of the console, as an answer. */
import { redirect, respondHtml } from "../http/respond.ts";
import type { Site } from "../identity/sites.ts";
import { consoleHeaders, consolePage, NAVIGATION_GROUPS, type NavigationGroup } from "../pages/console/frame.ts";
import { html } from "../pages/html.ts";
import { rolesText } from "./rights.ts";
import type { ConsoleRights, Screen, ScreenPage, ConsoleRequest } from "./screen.ts";
import { scriptPath, STYLE_PATH } from "./assets.ts";
import { showUntrusted } from "./show-untrusted.ts";
import type { FlashMessage } from "./flash-message.ts";
import { CONSOLE_PATH } from "./console-requests.ts";

export interface Pages {
  show(visit: ConsoleRequest, site: Site, screen: Screen | undefined, page: ScreenPage, refused?: string): void;
  /** 303, and says what was done on the page it leads to. */
  goOn(visit: ConsoleRequest, site: Site, to: string, told: string): void;
}

export function createPages(deps: { readonly screens: readonly Screen[]; readonly told: FlashMessage }): Pages {
  return {
    show(visit, site, screen, { title, body, status = 200, scripts: more = [], stream }, refused) {
      const { exchange, principal, rights } = visit;
      const told = deps.told.take(exchange, principal);
      const scripts = ["time", ...more].map(scriptPath);
      const page = consolePage({
        title,
        body,
        told,
        refused,
        style: STYLE_PATH,
        scripts,
        person: showUntrusted(principal.user.email || principal.user.name || principal.user.id),
        roles: rolesText(rights),
        navigation: navigationOf(deps.screens, screen, rights),
      });
      // Its worker is a script that no element of the page names.
      const allowed = stream === undefined ? scripts : [...scripts, scriptPath("live-worker")];
      const whole = (path: string): string => site.origin + path;
      respondHtml(exchange, status, page, [
        ...consoleHeaders(whole(STYLE_PATH), allowed.map(whole), stream === undefined ? undefined : whole(stream)),
        ...(told === undefined ? [] : ["set-cookie", deps.told.clear(site)]),
      ]);
    },
    goOn({ exchange, principal }, site, to, told) {
      redirect(exchange, 303, site.origin + to, ["set-cookie", deps.told.set(told, principal, site)]);
    },
  };
}

/** Of the screens that have something for this administrator. */
function navigationOf(
  screens: readonly Screen[],
  shown: Screen | undefined,
  rights: ConsoleRights,
): readonly NavigationGroup[] {
  const seen = screens.filter((each) => each.isFor?.(rights) ?? true);
  return NAVIGATION_GROUPS.map((name) => ({
    name,
    entries: seen
      .filter(({ group }) => group === name)
      .map((each) => ({ href: screenPath(each), name: each.name, icon: each.icon, isCurrent: each === shown })),
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
