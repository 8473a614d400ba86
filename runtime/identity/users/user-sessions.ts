/** The user's browser sessions on the account page, and the form that ends one of them. */
import type { Snapshot } from "../../config/snapshot.ts";
import type { Exchange } from "../../http/exchange.ts";
import { redirect } from "../../http/respond.ts";
import { sessionsSection } from "../../pages/access.ts";
import type { Html } from "../../pages/html.ts";
import type { Store } from "../../store/store.ts";
import { refuseForm } from "../csrf.ts";
import { endSession, listSessions } from "./list-sessions.ts";
import type { Principal } from "../principal.ts";
import type { Authenticator, Csrf, Revocations } from "../interfaces.ts";
import { withStore } from "../sign-in/sign-in.ts";
import { readUserForm } from "./user-form.ts";

export const SESSIONS_PATH = "/.gateway/sessions";
const FORM = "sessions";
const MAX_FORM_BYTES = 4096;

export interface UserSessionsDeps {
  readonly store: Store;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly authenticator: Pick<Authenticator, "cookie">;
  readonly csrf: Csrf;
}

export interface UserSessions {
  readonly render: (principal: Principal) => Promise<Html>;
  /** `POST /.gateway/sessions`. */
  readonly handleEnd: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
}

export function createUserSessions(deps: UserSessionsDeps): UserSessions {
  return {
    async render(principal) {
      const sessions = await listSessions(deps.store, principal.user.id);
      return sessionsSection(
        sessions.map(({ id, createdAt, expiresAt }) => ({
          id,
          began: new Date(createdAt * 1000),
          ends: new Date(expiresAt * 1000),
          isThis: id === principal.sessionId,
        })),
        { action: SESSIONS_PATH, csrfToken: deps.csrf.token(principal, FORM) },
      );
    },

    handleEnd: (exchange, snapshot) =>
      withStore(exchange, async () => {
        const sent = await readUserForm(exchange, snapshot, {
          name: FORM,
          maxBytes: MAX_FORM_BYTES,
          csrf: deps.csrf,
          principal: () => deps.authenticator.cookie(exchange),
        });
        if (!sent.ok) return refuseForm(exchange);
        // Search only this user's sessions: a user cannot end another user's session.
        const own = await listSessions(deps.store, sent.principal.user.id);
        const chosen = own.find(({ id }) => id === sent.values.get("session"));
        if (chosen) await endSession(deps, chosen.id);
        redirect(exchange, 303, `${sent.site.origin}/.gateway/`);
      }),
  };
}
