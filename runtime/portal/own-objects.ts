/**
 * Objects that act for the signed-in user, of the kinds that appear in the portal, and the form that ends one.
 *
 * Untrusted input: the form. Promise: a user ends only their own objects.
 */
import type { Asked, Kind, KindDeps } from "../administration/kind.ts";
import type { OwnSeen } from "../administration/own-part.ts";
import { KINDS } from "../administration/kinds.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { Exchange } from "../http/exchange.ts";
import { redirect } from "../http/respond.ts";
import { refuseForm } from "../identity/csrf.ts";
import type { BrowserSessions, Csrf } from "../identity/interfaces.ts";
import type { Principal } from "../identity/principal.ts";
import { withStore } from "../identity/sign-in/sign-in.ts";
import type { ActiveSession } from "../identity/users/list-sessions.ts";
import type { UserSection } from "../identity/users/user-endpoints.ts";
import { readUserForm } from "../identity/users/user-form.ts";
import { OWN_PATH } from "./paths.ts";
import { ownCards, type OwnView } from "../pages/portal/own.ts";

const FORM = "own";
const MAX_FORM_BYTES = 4096;
/** Per kind. */
const MOST_SHOWN = 50;

type Deps = Omit<KindDeps, "publishTokens">;
type OwnKind = Kind<object, Deps> & Required<Pick<Kind, "own">>;

const OWN_KINDS: readonly OwnKind[] = (KINDS.filter(({ own }) => own) as unknown as OwnKind[]).toSorted(
  (a, b) => a.own.order - b.own.order,
);

export interface OwnObjectsDeps extends Deps {
  readonly browser: Pick<BrowserSessions, "principal">;
  readonly csrf: Csrf;
}

export interface OwnObjects {
  readonly section: UserSection;
  /** `POST /.gateway/own` */
  end(exchange: Exchange, snapshot: Snapshot): Promise<void>;
}

export function createOwnObjects(deps: OwnObjectsDeps): OwnObjects {
  return {
    async section(principal, snapshot) {
      const views = await ownViews(deps, principal, snapshot);
      return ownCards(views, { action: OWN_PATH, csrfToken: deps.csrf.token(principal, FORM) });
    },
    end: (exchange, snapshot) => withStore(exchange, () => endOne(deps, exchange, snapshot)),
  };
}

async function ownViews(deps: Deps, principal: Principal, snapshot: Snapshot): Promise<readonly OwnView[]> {
  const query = { limit: MOST_SHOWN, filters: new Map([["user", principal.user.id]]) };
  const pages = await Promise.all(OWN_KINDS.map(async (kind) => ({ kind, ...(await kind.page(deps, query)) })));
  const sessions = pages.flatMap(({ kind, found }) => (kind.name === "session" ? (found as ActiveSession[]) : []));
  const seen: OwnSeen = {
    sessionId: principal.sid,
    deviceIds: sessions.find(({ id }) => id === principal.sid)?.deviceIds ?? [],
    needsDevices: snapshot.routes.some(({ policy }) => policy.needsDevice),
  };
  return pages
    .filter(({ kind: { own }, found }) => found.length > 0 || own.isShownEmpty(seen))
    .map(({ kind, found, next }) => ({
      kind: kind.name,
      heading: kind.own.heading,
      icon: kind.own.icon,
      empty: kind.own.empty,
      foot: kind.own.foot,
      isCut: next !== undefined,
      rows: found
        .map((thing) => ({ id: kind.idOf(thing), isCurrent: false, ...kind.own.row(thing, seen) }))
        .toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent)),
    }));
}

async function endOne(deps: OwnObjectsDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const sent = await readUserForm(exchange, snapshot, {
    name: FORM,
    maxBytes: MAX_FORM_BYTES,
    csrf: deps.csrf,
    principal: () => deps.browser.principal(exchange, snapshot),
  });
  if (!sent.ok) return refuseForm(exchange);
  const { id: userId } = sent.principal.user;
  const kind = OWN_KINDS.find(({ name }) => name === sent.values.get("kind"));
  const id = sent.values.get("id") ?? "";
  const found = kind && id !== "" ? await kind.find(deps, id, userId) : undefined;
  // Another user's object is treated as if it did not exist.
  if (kind && found && kind.userOf(found) === userId) {
    const asked: Asked = { by: userId, reason: "ended by the user", isOwn: true, record: () => undefined };
    const done = await kind.actions.find(({ path }) => path === "end")?.run(deps, found, asked);
    if (done !== undefined)
      deps.log.info({ user: userId, kind: kind.name, id, request: exchange.id }, "ended by its user");
  }
  redirect(exchange, 303, `${sent.site.origin}/.gateway/`);
}
