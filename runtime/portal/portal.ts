/**
 * The portal: cards of servers and applications, and objects that act for the user.
 *
 * The objects use the kinds of the administration, which are loaded with the first page.
 */
import type { Endpoint } from "../http/endpoint.ts";
import { html } from "../pages/html.ts";
import type { UserSection } from "../identity/users/user-endpoints.ts";
import { cardsUserSection, type CardsDeps } from "./cards.ts";
import type { OwnObjects, OwnObjectsDeps } from "./own-objects.ts";
import { OWN_PATH } from "./paths.ts";

export interface Portal {
  readonly userSection: UserSection;
  readonly endpoints: readonly Endpoint[];
}

export function createPortal(deps: CardsDeps & OwnObjectsDeps): Portal {
  let loaded: Promise<OwnObjects> | undefined;
  const own = (): Promise<OwnObjects> =>
    (loaded ??= import("./own-objects.ts").then(({ createOwnObjects }) => createOwnObjects(deps)));
  const cards = cardsUserSection(deps);
  return {
    async userSection(...of) {
      const parts = await Promise.all([cards(...of), own().then(({ section }) => section(...of))]);
      return html`${parts}`;
    },
    endpoints: [
      {
        methods: ["POST"],
        path: OWN_PATH,
        handle: async (exchange, snapshot) => (await own()).end(exchange, snapshot),
      },
    ],
  };
}
