import type { Secret } from "./secret.ts";

/** Asked of the upstream whichever way its OAuth is reached. */
export interface UpstreamOauth2Options {
  /**
   * Scopes requested from the upstream.
   * @default - what the upstream's metadata names
   */
  readonly scopes?: readonly string[];
  /**
   * Extra query parameters on the authorization URL, for example to request offline access.
   * @default - none
   */
  readonly authorizationUrlParams?: Readonly<Record<string, string>>;
}

/** A client that was registered at the upstream by hand. */
export interface UpstreamOauth2Credentials extends UpstreamOauth2Options {
  /** OAuth client identifier for the upstream service. */
  readonly clientId: string;
  /**
   * OAuth client secret, read at each token refresh.
   * @default - a public client
   */
  readonly clientSecret?: Secret;
}

/** The same with the endpoints known, so that nothing is discovered. */
export interface UpstreamOauth2Endpoints extends UpstreamOauth2Credentials {
  /** The upstream's OAuth endpoints. */
  readonly endpoint: UpstreamOauth2Endpoint;
}

export interface UpstreamOauth2Endpoint {
  /** Upstream authorization endpoint. */
  readonly authUrl: string;
  /** Upstream token endpoint. */
  readonly tokenUrl: string;
  /**
   * How client credentials are sent: HTTP Basic or form fields.
   * @default - `header`, or what the upstream's metadata says
   */
  readonly authStyle?: "header" | "params";
}

/** How the gateway comes to Internal Tokens for an MCP server behind OAuth: one of three ways. */
export class UpstreamOauth2 {
  readonly settings: UpstreamOauth2Options;

  private constructor(settings: UpstreamOauth2Options) {
    this.settings = settings;
  }

  /** The gateway finds the endpoints and registers itself. The hosts must be in `mcpAllowedAsMetadataDomains`. */
  static discover(options: UpstreamOauth2Options = {}): UpstreamOauth2 {
    return new UpstreamOauth2(options);
  }

  /** The gateway finds the endpoints and uses the given client. */
  static credentials(credentials: UpstreamOauth2Credentials): UpstreamOauth2 {
    return new UpstreamOauth2(credentials);
  }

  /** Client and endpoints are used as given; nothing is discovered. */
  static endpoints(endpoints: UpstreamOauth2Endpoints): UpstreamOauth2 {
    return new UpstreamOauth2(endpoints);
  }
}
