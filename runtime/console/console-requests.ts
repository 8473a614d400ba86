/** The visitor and their rights: checks that a page, a form, a download and a stream have in common. */
import type { AdminAction } from "../audit/action-record.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { ConsoleSettings } from "../features/access/console.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondAgainLater, respondError, redirect } from "../http/respond.ts";
import { refuseForm } from "../identity/csrf.ts";
import type { Authenticator, BrowserSessions, Csrf, DeviceProofs } from "../identity/interfaces.ts";
import type { Principal } from "../identity/principal.ts";
import { isNavigation } from "../identity/sign-in/sign-in.ts";
import type { Site } from "../identity/sites.ts";
import type { UserSection } from "../identity/users/user-endpoints.ts";
import { consoleSection } from "../pages/user.ts";
import { DEVICE_UNAUTHENTICATED } from "../policy/criteria.ts";
import { evaluate } from "../policy/evaluate.ts";
import { parseQuery } from "../shared/http/query.ts";
import type { Clock } from "../shared/clock.ts";
import { GatewayError } from "../shared/errors.ts";
import { createRateLimit } from "../shared/rate-limit.ts";
import { pageBefore, respondSessionEnded } from "./session-ended.ts";
import { showUntrusted } from "./show-untrusted.ts";
import { isAdmitted, rightsOf, rolesText } from "./rights.ts";
import type { ConsoleRights, Screen, ConsoleRequest } from "./screen.ts";

export const CONSOLE_PATH = "/.gateway/console";

/** Per user: enough for a quick reader with several tabs. */
const RATE = { burst: 60, perSecond: 3 };
const MAX_TARGET_CHARACTERS = 500;

export interface ConsoleRequestDeps {
  readonly settings: ConsoleSettings;
  readonly authenticator: Pick<Authenticator, "cookieAgain">;
  readonly browser: BrowserSessions;
  readonly deviceProofs: DeviceProofs;
  readonly csrf: Csrf;
  readonly clock: Clock;
  readonly recordAction: (action: AdminAction) => void;
}

export interface Visitor {
  readonly principal: Principal;
  readonly rights: ConsoleRights;
}

export interface ConsoleRequests {
  /** Undefined when the exchange has its response. */
  admit(exchange: Exchange, snapshot: Snapshot, site: Site): Promise<Visitor | undefined>;
  /** Identifies the user, with a role or without one: for records of forms that are rejected before a user is admitted. */
  recognise(exchange: Exchange, snapshot: Snapshot): Promise<Principal | undefined>;
  /** The same for an open stream: undefined when the right to it has ended. @throws GatewayError if it is unknown */
  admitAgain(exchange: Exchange, snapshot: Snapshot): Promise<Visitor | undefined>;
  /** Part of the user page; undefined for users without a role. */
  readonly userSection: UserSection;
  visit(
    exchange: Exchange,
    snapshot: Snapshot,
    visitor: Visitor,
    screen: Screen,
    path: readonly string[],
  ): ConsoleRequest;
}

export function createConsoleRequests(deps: ConsoleRequestDeps): ConsoleRequests {
  const { settings, browser, csrf, clock } = deps;
  const limit = createRateLimit({ clock }, RATE.burst, RATE.perSecond);
  const policies = [settings.roles, ...settings.owners.values()].flatMap((roles) => [...roles.values()]);
  const needsDevice = policies.some((policy) => policy.needsDevice);

  const rightsNow = (exchange: Exchange, snapshot: Snapshot, principal: Principal): Visitor | undefined => {
    const rights = rightsOf(settings, snapshot, exchange, principal);
    return isAdmitted(rights) ? { principal, rights } : undefined;
  };

  const again = async (exchange: Exchange, snapshot: Snapshot): Promise<Visitor | undefined> => {
    const who = await deps.authenticator.cookieAgain(exchange);
    if (!who.ok && who.reason === "unavailable")
      throw new GatewayError("store.unavailable", "Cannot read the session of a console page");
    return who.ok && who.principal.kind === "session" ? rightsNow(exchange, snapshot, who.principal) : undefined;
  };

  const refuse = (exchange: Exchange, snapshot: Snapshot, principal: Principal, site: Site): void => {
    const { user } = principal;
    const { method, path, host, remoteAddress: ip } = exchange;
    const facts = { user, http: { method, path, host, ip }, ...(principal.devices && { devices: principal.devices }) };
    const isForDevice = policies.some((policy) =>
      evaluate(policy, facts).allowWhyFalse.includes(DEVICE_UNAUTHENTICATED),
    );
    const address = isForDevice ? deps.deviceProofs.addressOf(exchange, snapshot, principal) : undefined;
    if (address !== undefined && isNavigation(exchange)) return redirect(exchange, 302, address);
    const target = showUntrusted(path.slice("/.gateway/".length), MAX_TARGET_CHARACTERS);
    deps.recordAction({ action: "console", by: user.id, target, outcome: "refused", reason: "no role" });
    const before = pageBefore(exchange, site);
    respondError(exchange, 403, {
      code: "access.denied",
      message:
        before === undefined
          ? "You are signed in, but your account has no access here"
          : `${method === "POST" ? "No changes were made. " : ""}Your account no longer has access here: your groups or the rules have changed`,
      links: [
        { href: "/.gateway/", text: "View your account" },
        ...(before === undefined ? [] : [{ href: before, text: "Go back to the page" }]),
      ],
    });
  };

  return {
    async admit(exchange, snapshot, site) {
      const who = await browser.principal(exchange, snapshot);
      if (!who.ok && who.reason === "unavailable") {
        respondUnavailable(exchange);
        return undefined;
      }
      if (!who.ok) {
        const hadSession = who.reason !== "missing" || pageBefore(exchange, site) !== undefined;
        if (exchange.method === "POST" || (hadSession && isNavigation(exchange))) respondSessionEnded(exchange, site);
        else await browser.requireSignIn(exchange, snapshot);
        return undefined;
      }
      const { principal } = who;
      if (principal.kind !== "session") {
        refuseForm(exchange);
        return undefined;
      }
      const wait = limit.take(principal.user.id);
      if (wait > 0) {
        respondError(
          exchange,
          429,
          { code: "console.too-many", message: "Too many requests. Try again in a moment." },
          ["retry-after", String(wait)],
        );
        return undefined;
      }
      const visitor =
        rightsNow(exchange, snapshot, principal) ?? (needsDevice ? await again(exchange, snapshot) : undefined);
      if (!visitor) refuse(exchange, snapshot, principal, site);
      return visitor;
    },
    async recognise(exchange, snapshot) {
      const who = await browser.principal(exchange, snapshot);
      return who.ok && who.principal.kind === "session" && limit.take(who.principal.user.id) === 0
        ? who.principal
        : undefined;
    },
    admitAgain: again,
    userSection(principal, snapshot, _host, { host, remoteAddress, clientCertificate }) {
      const home = { method: "GET", path: `${CONSOLE_PATH}/`, host, remoteAddress, clientCertificate };
      const rights = rightsOf(settings, snapshot, home, principal);
      return Promise.resolve(isAdmitted(rights) ? consoleSection(rolesText(rights)) : undefined);
    },
    visit(exchange, snapshot, { principal, rights }, screen, path) {
      const query = parseQuery(exchange.query);
      return {
        exchange,
        snapshot,
        principal,
        rights,
        path,
        query: query.ok ? query.values : new Map(),
        now: clock.now(),
        csrf: (form) => csrf.token(principal, formName(screen, form)),
      };
    },
  };
}

/** A token for one form is no token for another. */
export function formName(screen: Screen, action: string): string {
  return `console ${screen.path} ${action}`;
}

export function respondUnavailable(exchange: Exchange): void {
  respondAgainLater(exchange, { code: "console.unavailable", message: "The console is temporarily unavailable." });
}
