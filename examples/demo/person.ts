/** A person in front of a browser, for unattended runs: chooses a user at the provider, presses "Allow" on consent pages. */
import { type Browser, findForm, findLink, type Page } from "../../test/support/browser.ts";

export interface Visit {
  /** Whom to be, as the provider's page names them. */
  readonly user: string;
  /** Where they sign in, as the page says it on which one chooses that. */
  readonly provider?: string;
  /** Addresses that begin with this belong to the client, and end the visit. */
  readonly stopAt?: string;
}

/** Follows redirects, sign-in and consent until there is nothing left to choose. */
export async function visit(browser: Browser, url: string, { user, provider, stopAt }: Visit): Promise<Page> {
  let page = await browser.open(url, stopAt);
  for (let count = 0; count < 5 && !page.left; count += 1) {
    const choice = findLink(page, user) ?? (provider === undefined ? undefined : findLink(page, provider));
    const consent = findForm(page, "/.gateway/mcp/consent");
    if (choice !== undefined) page = await browser.open(choice, stopAt);
    else if (consent) page = await browser.submit(page, consent, { decision: "approve" }, stopAt);
    else break;
  }
  return page;
}
