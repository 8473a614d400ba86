/** A whole gateway (gateway.ts) whose users sign in at the development identity provider: for users' flows. */
import {
  type IdentityProvider,
  type IdentityProviderOptions,
  startIdentityProvider,
} from "../../examples/demo/identity-provider.ts";
import { startGateway, type TestGateway, type TestGatewayOptions } from "./gateway.ts";
import { freePort } from "./ports.ts";

export interface SignInGateway {
  readonly gateway: TestGateway;
  readonly identityProvider: IdentityProvider;
  /** Settings and routes with those of MCP and the provider before them. */
  withProvider(yaml: string): string;
  /** Activates other settings and routes; MCP and the provider stay unchanged. */
  reconfigure(yaml: string): Promise<void>;
  close(): Promise<void>;
}

export interface SignInGatewayOptions extends TestGatewayOptions {
  /** Host name of sign-in and consent pages; "localhost", where the routes are, by default. */
  readonly pagesHost?: string;
  /** The provider notifies the gateway of users that it signs out. */
  readonly backChannelLogout?: boolean;
  readonly provider?: Pick<
    IdentityProviderOptions,
    "users" | "claimsInIdToken" | "resources" | "exchange" | "idTokenSeconds" | "isKeycloak" | "grantsOffline"
  >;
}

/** @param options `yaml` holds settings and routes; the flag and the provider's settings are added */
export async function startSignInGateway({
  pagesHost = "localhost",
  provider = {},
  backChannelLogout = false,
  ...options
}: SignInGatewayOptions): Promise<SignInGateway> {
  const port = options.port ?? (await freePort());
  const redirectUri = `http://${pagesHost}:${port}/.gateway/callback`;
  const identityProvider = await startIdentityProvider({
    ...provider,
    clients: [
      {
        client_id: "gateway",
        client_secret: "secret",
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [`http://${pagesHost}:${port}/.gateway/signed_out`],
        ...(backChannelLogout && { backchannel_logout_uri: `http://${pagesHost}:${port}/.gateway/backchannel_logout` }),
      },
    ],
  });
  const withProvider = (yaml: string): string => `
runtime_flags: { mcp: true }
idp_provider_url: ${identityProvider.issuer}
idp_client_id: gateway
idp_client_secret: secret
${pagesHost === "localhost" ? "" : `authenticate_service_url: http://${pagesHost}:${port}`}
${yaml}`;
  const gateway = await startGateway({ ...options, port, yaml: withProvider(options.yaml) });
  return {
    gateway,
    identityProvider,
    withProvider,
    reconfigure: (yaml) => gateway.reconfigure(withProvider(yaml)),
    async close() {
      await gateway.close();
      await identityProvider.close();
    },
  };
}
