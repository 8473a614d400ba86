/** The state that a host application keeps for an SDK client, and its user, who signs in and consents. */
import { createBrowser, findForm, findLink } from "./browser.ts";

export const SDK_CALLBACK = "http://localhost:43117/callback";

export interface SdkProviderOptions {
  readonly callback?: string;
  readonly grantTypes?: readonly string[];
}

/** @param authorize name of the user, who signs in and consents; or what happens at the authorization, with its end at the client */
export function createSdkProvider(
  authorize: string | ((url: URL) => Promise<URL>),
  { callback: address = SDK_CALLBACK, grantTypes = ["authorization_code", "refresh_token"] }: SdkProviderOptions = {},
) {
  const kept = new Map<string, unknown>();
  let callback: URL | undefined;
  const provider = {
    redirectUrl: address,
    clientMetadata: {
      client_name: "SDK client",
      redirect_uris: [address],
      grant_types: [...grantTypes],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => "state-of-the-sdk",
    clientInformation: () => kept.get("client") as never,
    saveClientInformation: (value: unknown) => void kept.set("client", value),
    tokens: () => kept.get("tokens") as never,
    saveTokens: (value: unknown) => void kept.set("tokens", value),
    saveCodeVerifier: (value: string) => void kept.set("verifier", value),
    codeVerifier: () => String(kept.get("verifier")),
    discoveryState: () => kept.get("discovery") as never,
    saveDiscoveryState: (value: unknown) => void kept.set("discovery", value),
    redirectToAuthorization: async (url: URL) =>
      void (callback = await (typeof authorize === "string" ? signIn(url, authorize) : authorize(url))),
  };
  return { provider, kept, callback: () => callback?.searchParams ?? new URLSearchParams() };
}

/** Chooses the user at the identity provider, consents, and answers where the browser was sent. */
async function signIn(url: URL, user: string): Promise<URL> {
  const browser = createBrowser();
  let page = await browser.open(url.href, SDK_CALLBACK);
  const link = findLink(page, user);
  if (link !== undefined) page = await browser.open(link, SDK_CALLBACK);
  const form = findForm(page, "/.gateway/mcp/consent");
  if (form) page = await browser.submit(page, form, { decision: "approve" }, SDK_CALLBACK);
  if (!page.left) throw new Error(`Cannot sign in: ${page.status} ${page.text}`);
  return new URL(page.url);
}
