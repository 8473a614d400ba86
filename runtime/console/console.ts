/**
 * The console's addresses: pages, downloads and streams by GET, actions by POST (`forms.ts`).
 *
 * Untrusted input: the request, and all that screens show. Promises: only on the host of sign-in pages, which no
 * application shares; only windows get pages, and only scripts of these pages get streams; who has no role learns nothing
 * but that, and leaves a record; looking changes nothing.
 */
import type { Snapshot } from "../config/snapshot.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { redirect, respondError } from "../http/respond.ts";
import { isFromOwnOrigin, refuseScript } from "../identity/csrf.ts";
import { findSite, type Site } from "../identity/sites.ts";
import { SIGN_IN_PATH, signIn } from "./session-ended.ts";
import { parseQuery } from "../shared/http/query.ts";
import { GatewayError } from "../shared/errors.ts";
import { createForms, type FormDeps } from "./forms.ts";
import { createSavedForms } from "./saved-form.ts";
import { createPages, NOTHING_HERE, screenPath, UNREADABLE } from "./respond-page.ts";
import type { Screen } from "./screen.ts";
import { respondAsset } from "./assets.ts";
import type { ConsoleStatus } from "./overview/status.ts";
import { createFlashMessage } from "./flash-message.ts";
import { CONSOLE_PATH, respondUnavailable, type ConsoleRequestDeps, type ConsoleRequests } from "./console-requests.ts";

export interface ConsoleDeps extends ConsoleRequestDeps, Omit<FormDeps, "visits" | "pages" | "kept"> {
  readonly visits: ConsoleRequests;
  /** In the order of the navigation. */
  readonly screens: readonly Screen[];
  readonly status?: ConsoleStatus | undefined;
}

export function consoleEndpoints(deps: ConsoleDeps): readonly Endpoint[] {
  const { screens, visits } = deps;
  const pages = createPages({
    screens,
    told: createFlashMessage(deps),
    status: deps.status,
    environment: deps.settings.name,
  });
  const kept = createSavedForms(deps);
  const forms = createForms({ ...deps, pages, kept });

  const get = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    const site = findOwnSite(exchange, snapshot);
    if (!site) return respondNothing(exchange);
    if (respondAsset(exchange)) return undefined;
    if (exchange.path === SIGN_IN_PATH) return signIn(exchange, snapshot, site, deps.browser);
    const { screen, path } = findScreen(screens, exchange);
    if (screen?.isForScripts?.(path) === true) {
      if (!isFromOwnOrigin(exchange, site.origin)) return respondNothing(exchange);
    } else if (refuseScript(exchange)) return undefined;
    const visitor = await visits.admit(exchange, snapshot, site);
    if (!visitor) return undefined;
    if (path.length === 0 && !screen && screens[0])
      return redirect(exchange, 302, site.origin + screenPath(screens[0]));
    const visit = visits.visit(exchange, snapshot, visitor, screen ?? NO_SCREEN, path);
    if (!parseQuery(exchange.query).ok) return pages.show(visit, site, screen, UNREADABLE);
    if (!screen) return pages.show(visit, site, undefined, NOTHING_HERE);
    if (await forms.showKept(visit, site, screen)) return undefined;
    if ((await screen.respond?.(visit)) === true) return undefined;
    await pages.show(visit, site, screen, (await screen.show(visit)) ?? NOTHING_HERE);
  };

  const post = async (exchange: Exchange, snapshot: Snapshot): Promise<void> => {
    const site = findOwnSite(exchange, snapshot);
    const { screen, path } = findScreen(screens, exchange);
    if (!site || !screen) return respondNothing(exchange);
    await forms.take(exchange, snapshot, site, screen, path);
  };

  const overStore = (work: (exchange: Exchange, snapshot: Snapshot) => Promise<void>): Endpoint["handle"] => {
    return async (exchange, snapshot) => {
      try {
        await work(exchange, snapshot);
      } catch (error) {
        const isAway = error instanceof GatewayError && error.code === "store.unavailable" && !exchange.started;
        if (!isAway) throw error;
        respondUnavailable(exchange);
      }
    };
  };
  const path = `${CONSOLE_PATH}/*`;
  return [
    { methods: ["GET"], path, handle: overStore(get) },
    { methods: ["POST"], path, handle: overStore(post) },
  ];
}

/** Without a host of its own it would share one with applications, which the rules of the configuration refuse. */
function findOwnSite(exchange: Exchange, snapshot: Snapshot): Site | undefined {
  const site = findSite(snapshot, exchange.host);
  return snapshot.settings.authenticateServiceUrl !== undefined && site?.authenticates === true ? site : undefined;
}

/** @returns path below the screen's, decoded; [] and no screen for the console itself */
function findScreen(
  screens: readonly Screen[],
  { path: whole }: Exchange,
): { readonly screen: Screen | undefined; readonly path: readonly string[] } {
  const parts = whole
    .slice(CONSOLE_PATH.length)
    .split("/")
    .filter((part) => part !== "");
  const [name, ...path] = parts.map(decode);
  const screen = screens.find((each) => each.path === name);
  return { screen, path: screen || name === undefined ? path : [name, ...path] };
}

/** Canonical paths have no encoding that does not decode; what has is no name of anything. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const NO_SCREEN: Screen = {
  path: "",
  group: "Monitor",
  icon: "decisions",
  name: "",
  show: () => Promise.resolve(undefined),
};

/** Responds as to addresses that do not exist. */
function respondNothing(exchange: Exchange): void {
  respondError(exchange, 404, { code: "endpoint.not-found", message: "There is nothing at this address" });
}
