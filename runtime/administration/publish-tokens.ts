/** What is asked of the owner of publish tokens for minutes. */
import type { PageOf, PageRequest } from "../store/page-of.ts";

/** Opens nothing by itself. */
export interface PublishToken {
  readonly id: string;
  readonly owner: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** As `admin-listener/minted-tokens.ts` keeps them. */
export interface PublishTokens {
  page(request: PageRequest): Promise<PageOf<PublishToken>>;
  get(id: string): Promise<PublishToken | undefined>;
  end(id: string, isAllowed: (owner: string) => boolean): Promise<boolean>;
}
