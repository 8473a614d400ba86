/**
 * What is done in the console: forms, on their way from the browser to a screen's action.
 *
 * Untrusted input: the whole request. Promises: an action is taken for a person who was shown its form (both walls), has
 * its role where it is done, and where it is grave has shown who they are a moment ago. What is refused or fails is told
 * and recorded; what is done, its screen records.
 */
import type { AdminAction } from "../audit/action-record.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { readForm } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";
import { isFromOwnForm, refuseForm } from "../identity/csrf.ts";
import type { BrowserSessions, Csrf, LastSignIn } from "../identity/interfaces.ts";
import type { Principal } from "../identity/principal.ts";
import { FRESH_SIGN_IN_SECONDS } from "../identity/provider/auth-time.ts";
import type { Site } from "../identity/sites.ts";
import { askAgainPage, savedFormPage } from "../pages/console/saved-form.ts";
import type { Clock } from "../shared/clock.ts";
import { epochSeconds } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import type { Keys } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import { providerNameOf } from "../shared/user-id.ts";
import { SAVED_FORM_PARAMETER, type SavedForms } from "./saved-form.ts";
import { NOTHING_HERE, type Pages } from "./respond-page.ts";
import type { Screen, ScreenAction, ConsoleRequest } from "./screen.ts";
import type { Html } from "../pages/html.ts";
import { showUntrusted } from "./show-untrusted.ts";
import { formName, type ConsoleRequests } from "./console-requests.ts";

const MAX_FORM_BYTES = 16_384;

export interface FormDeps {
  readonly visits: ConsoleRequests;
  readonly pages: Pages;
  readonly kept: SavedForms;
  readonly csrf: Csrf;
  readonly browser: BrowserSessions;
  readonly lastSignIn: LastSignIn;
  readonly recordAction: (action: AdminAction) => void;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Forms {
  /** A POST. */
  take(exchange: Exchange, snapshot: Snapshot, site: Site, screen: Screen, path: readonly string[]): Promise<void>;
  /** A GET that comes back from a fresh sign-in. @returns false when it does not */
  showKept(visit: ConsoleRequest, site: Site, screen: Screen): Promise<boolean>;
}

type Fields = ReadonlyMap<string, string>;

export function createForms(deps: FormDeps): Forms {
  const { visits, pages, kept, csrf, recordAction, clock, log } = deps;

  const isFresh = async (principal: Principal): Promise<boolean> =>
    (await deps.lastSignIn(principal)) >= epochSeconds(clock) - FRESH_SIGN_IN_SECONDS;

  /** @param screen the screen's path and the action's name, as far as they are known */
  const note = (
    exchange: Exchange,
    { user }: Principal,
    target: string,
    outcome: "refused" | "failed",
    reason: string,
  ) => {
    recordAction({ action: "console", by: user.id, target, outcome, reason });
    log.warn({ user: user.id, target, request: exchange.id, reason }, "console action failed");
  };

  const showRefused = async (visit: ConsoleRequest, site: Site, screen: Screen, status: number, refused: string) => {
    const page = (await screen.show(visit)) ?? NOTHING_HERE;
    await pages.show(visit, site, screen, { ...page, status }, refused);
  };

  const askAgain = (
    visit: ConsoleRequest,
    site: Site,
    screen: Screen,
    action: ScreenAction,
    form: Fields,
  ): Promise<void> => {
    const { exchange, principal } = visit;
    const address = kept.seal(exchange.path, principal, form);
    const minutes = FRESH_SIGN_IN_SECONDS / 60;
    return pages.show(visit, site, screen, {
      title: action.name,
      status: 403,
      body: askAgainPage({ address, minutes }),
    });
  };

  const run = async (visit: ConsoleRequest, site: Site, screen: Screen, action: ScreenAction, form: Fields) => {
    const { exchange, principal } = visit;
    const target = targetOf(visit, screen, form);
    const owner = await action.ownerOf?.(visit, form);
    if (!visit.rights.may(action.role, owner)) {
      note(exchange, principal, target, "refused", `needs the role ${action.role}`);
      const there = owner === undefined ? "" : ` for owner ${showUntrusted(owner)}`;
      const text = `No changes were made: this requires the role ${action.role}${there}.`;
      return showRefused(visit, site, screen, 403, text);
    }
    if (action.isSensitive && !(await isFresh(principal))) return askAgain(visit, site, screen, action, form);
    let outcome: Awaited<ReturnType<ScreenAction["run"]>>;
    try {
      outcome = await action.run(visit, form);
    } catch (error) {
      note(exchange, principal, target, "failed", errorText(error));
      const text = "The action may not have completed. Check before you try again.";
      return showRefused(visit, site, screen, 503, text);
    }
    if ("refused" in outcome) {
      note(exchange, principal, target, "refused", outcome.refused);
      return showRefused(visit, site, screen, 409, outcome.refused);
    }
    if ("page" in outcome) return pages.show(visit, site, screen, outcome.page);
    pages.goOn(visit, site, outcome.to, outcome.told);
  };

  return {
    async take(exchange, snapshot, site, screen, path) {
      if (!isFromOwnForm(exchange, site.origin)) {
        const sender = await visits.recognise(exchange, snapshot);
        if (sender) note(exchange, sender, `console/${screen.path}`, "refused", "the form came from elsewhere");
        return refuseForm(exchange);
      }
      const visitor = await visits.admit(exchange, snapshot, site);
      if (!visitor) return undefined;
      const form = await readForm(exchange, screen.maxFormBytes ?? MAX_FORM_BYTES);
      const visit = visits.visit(exchange, snapshot, visitor, screen, path);
      const { principal } = visitor;
      const values: Fields = form.ok ? form.values : new Map();
      const name = values.get("action") ?? "";
      const action = screen.actions && Object.hasOwn(screen.actions, name) ? screen.actions[name] : undefined;
      if (!action || !csrf.verify(principal, formName(screen, name), values.get("csrf_token") ?? "")) {
        note(exchange, principal, targetOf(visit, screen, values), "refused", "the form is not ours");
        return refuseForm(exchange);
      }
      await run(visit, site, screen, action, values);
    },

    async showKept(visit, site, screen) {
      const sealed = visit.query.get(SAVED_FORM_PARAMETER);
      if (sealed === undefined) return false;
      const { exchange, snapshot, principal } = visit;
      const form = kept.open(sealed, exchange.path, principal);
      const page = (await screen.show(visit)) ?? NOTHING_HERE;
      if (!form) {
        await pages.show(visit, site, screen, page, "The form expired or belongs to another user. Fill it in again.");
        return true;
      }
      if (!(await isFresh(principal))) {
        const providers = [providerNameOf(principal.user.id)];
        await deps.browser.requireSignIn(exchange, snapshot, { providers, isFresh: true });
        return true;
      }
      const name = form.get("action") ?? "";
      const action = screen.actions && Object.hasOwn(screen.actions, name) ? screen.actions[name] : undefined;
      if (!action) {
        const text = "You have signed in again. The form was too large to save: fill it in again.";
        await pages.show(visit, site, screen, page, text);
        return true;
      }
      const body = savedFormBody(visit, name, action, form);
      await pages.show(visit, site, screen, { title: action.name, body });
      return true;
    },
  };
}

const MAX_SHOWN_CHARACTERS = 500;

function savedFormBody(visit: ConsoleRequest, name: string, action: ScreenAction, form: Fields): Html {
  const fields = [...form].filter(([each]) => each !== "action");
  return savedFormPage({
    form: { action: visit.exchange.path, name, csrfToken: visit.csrf(name), fields },
    shown: fields.map(([each, value]) => [each, showUntrusted(value, MAX_SHOWN_CHARACTERS)] as const),
    button: action.name,
    back: visit.exchange.path,
  });
}

function targetOf({ path }: ConsoleRequest, screen: Screen, form: Fields): string {
  const where = ["console", screen.path, ...path].join("/");
  return showUntrusted(`${where} ${form.get("action") ?? ""}`.trim(), MAX_SHOWN_CHARACTERS);
}
