/** Pages at the edges of a session. */
import { html } from "./html.ts";
import { mark, page, type Page } from "./layout.ts";

/** After sign-out, when there is nowhere else to go. */
export function signedOutPage(): Page {
  return page({
    title: "Signed out",
    mark: mark("good", "signOut"),
    body: html`<p>You are signed out of this gateway. You may still be signed in at your identity provider.</p>
      <p class="actions"><a class="button primary" href="/.gateway/sign_in">Sign in again</a></p>`,
  });
}

/**
 * A page that a `refresh` header leaves immediately; the link is for browsers that ignore the header.
 *
 * @param parts.href absolute https or http URL, or a path of this host
 */
export function continuePage(parts: { readonly title: string; readonly href: string }): Page {
  return page({
    title: parts.title,
    body: html`<p class="actions"><a class="button primary" href="${parts.href}">Continue</a></p>`,
  });
}
