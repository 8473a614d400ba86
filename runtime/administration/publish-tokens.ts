/** Interface to short-lived publish tokens. */
import type { PageOf, PageRequest } from "../store/page-of.ts";

/** The ID opens nothing. */
export interface PublishToken {
  readonly id: string;
  readonly owner: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** As stored by `admin-listener/minted-tokens.ts`. */
export interface PublishTokens {
  page(request: PageRequest): Promise<PageOf<PublishToken>>;
  get(id: string): Promise<PublishToken | undefined>;
  end(id: string, isAllowed: (owner: string) => boolean): Promise<boolean>;
}
