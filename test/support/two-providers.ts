/** A second development identity provider, as an entry of `identity_issuers` for a gateway that has a first one. */
import {
  type IdentityProvider,
  type IdentityProviderOptions,
  startIdentityProvider,
} from "../../examples/demo/identity-provider.ts";

export interface SecondProvider {
  readonly idp: IdentityProvider;
  /** Settings, as YAML lines. @param more of the block `sign_in`, @param entry of the entry */
  settings(more?: string, entry?: string): string;
}

/** @param origin of the sign-in pages, to which it sends browsers back */
export async function startSecondProvider(
  name: string,
  origin: string,
  options: Partial<IdentityProviderOptions> = {},
): Promise<SecondProvider> {
  const idp = await startIdentityProvider({
    clients: [
      {
        client_id: `gateway-at-${name}`,
        client_secret: `secret-of-${name}`,
        redirect_uris: [`${origin}/.gateway/callback/${name}`],
        post_logout_redirect_uris: [`${origin}/.gateway/signed_out`],
      },
    ],
    ...options,
  });
  return {
    idp,
    settings: (more = "", entry = "") => `
identity_issuers:
  ${name}:
    issuer: ${idp.issuer}
    uses: [sign_in]
    ${entry}
    sign_in: { client_id: gateway-at-${name}, client_secret: secret-of-${name}, label: ${name.toUpperCase()}${more} }
`,
  };
}
