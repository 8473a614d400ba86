/** Interface of the proxy to the store of users' upstream tokens (oauth/client). */
import type { CompiledRoute, LiveSettings } from "../config/compiled.ts";

/** A token to send, ready for the header. */
export interface InternalToken {
  readonly accessToken: string;
  readonly authorization: string;
}

/** No token, and no connect step helps: the user is denied, must sign in again, or the operator must change something. */
type Refused = "denied" | "sign-in" | "misconfigured" | "issuer-changed";

type Attachment =
  | { readonly kind: "nothing" | "connect" | "unavailable" | Refused }
  | ({ readonly kind: "token" } & InternalToken);

type RefusalOutcome =
  | { readonly kind: "connect" | "forbidden" | "unresolvable" | "unavailable" | Refused }
  | ({ readonly kind: "retry" } & InternalToken);

/** An upstream's response about the authorization it got. */
export interface RefusedAnswer {
  readonly status: number;
  readonly wwwAuthenticate: string | readonly string[] | undefined;
  readonly accessToken: string | undefined;
  readonly hasOwnAuthorization: boolean;
}

export interface UpstreamTokens {
  readonly tokens: { attach(userId: string, route: CompiledRoute): Attachment | Promise<Attachment> };
  readonly refusals: {
    concerns(route: CompiledRoute, settings: LiveSettings, answer: RefusedAnswer): boolean;
    handle(userId: string, route: CompiledRoute, answer: RefusedAnswer, attempt: number): Promise<RefusalOutcome>;
    passed(route: CompiledRoute): void;
  };
}
