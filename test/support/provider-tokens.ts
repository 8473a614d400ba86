/** Tokens of the development identity provider, as another application of the same company gets them. */
import { createHash, randomBytes } from "node:crypto";

import type { IdentityProvider } from "../../examples/demo/identity-provider.ts";
import { createBrowser } from "./scripted-browser.ts";

export interface OtherApplication {
  readonly client_id: string;
  readonly client_secret: string;
  readonly redirect_uris: readonly string[];
}

/** An application that is not the gateway. */
export const TOOL: OtherApplication = {
  client_id: "tool",
  client_secret: "tool-secret",
  redirect_uris: ["http://127.0.0.1:9/callback"],
};

export interface IssuedTokens {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token?: string;
}

/** Signs the user in at the application. @param resource RFC 8707: its tokens are JWTs for that audience */
export async function signInAt(
  provider: IdentityProvider,
  application: OtherApplication,
  user: string,
  resource?: string,
): Promise<IssuedTokens> {
  const [redirectUri = ""] = application.redirect_uris;
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL("/auth", provider.issuer);
  url.search = new URLSearchParams({
    client_id: application.client_id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: resource === undefined ? "openid profile email" : "openid profile email api",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    login_hint: user,
    ...(resource === undefined ? {} : { resource }),
  }).toString();
  const page = await createBrowser().open(url.href, { follow: redirectUri });
  const location = page.hops.at(-1)?.location;
  const code = location === undefined ? null : new URL(location).searchParams.get("code");
  if (code === null) throw new Error(`The provider gave no code: ${page.status} ${location ?? page.text}`);
  return askForm(provider, application, "/token", {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...(resource === undefined ? {} : { resource }),
  }) as Promise<IssuedTokens>;
}

/** The application gives a token back (RFC 7009). */
export async function revokeAt(
  provider: IdentityProvider,
  application: OtherApplication,
  token: string,
): Promise<void> {
  await askForm(provider, application, "/token/revocation", { token });
}

async function askForm(
  provider: IdentityProvider,
  { client_id: id, client_secret: secret }: OtherApplication,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<unknown> {
  const answer = await fetch(new URL(path, provider.issuer), {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` },
    body: new URLSearchParams(form),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`The provider answered ${answer.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
