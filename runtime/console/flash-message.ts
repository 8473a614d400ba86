/** What the person is told on the next page, once: in a cookie, since any replica may serve that page. */
import { readCookie, serializeCookie } from "../http/cookies.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Principal } from "../identity/principal.ts";
import type { Site } from "../identity/sites.ts";
import type { Clock } from "../shared/clock.ts";
import type { Keys } from "../shared/keys.ts";

export interface FlashMessage {
  /** Set-Cookie. */
  set(text: string, principal: Principal, site: Site): string;
  take(exchange: Exchange, principal: Principal): string | undefined;
  /** Set-Cookie. */
  clear(site: Site): string;
}

const NAME = "_gateway_console_told";
const PATH = "/.gateway/console";
const SECONDS = 60;
const MAX_CHARACTERS = 600;

export function createFlashMessage(deps: { readonly keys: Keys; readonly clock: Clock }): FlashMessage {
  const sealer = deps.keys.sealer("console");
  const cookie = (value: string, { secure }: Site, maxAgeSeconds: number): string =>
    serializeCookie(NAME, value, { path: PATH, secure, maxAgeSeconds, sameSite: "strict" });
  return {
    set(text, principal, site) {
      const bounded = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
      const sealed = sealer.seal(JSON.stringify([deps.clock.now() + SECONDS * 1000, bounded]), aad(principal));
      return cookie(sealed, site, SECONDS);
    },
    take(exchange, principal) {
      const value = readCookie(exchange, NAME);
      const opened = value === undefined ? undefined : sealer.open(value, aad(principal));
      if (!opened) return undefined;
      const [endsAtMs, text] = JSON.parse(opened.toString()) as [number, string];
      return endsAtMs > deps.clock.now() ? text : undefined;
    },
    clear: (site) => cookie("", site, 0),
  };
}

/** Of this session alone. */
function aad({ sid }: Principal): string {
  return `told ${sid}`;
}
