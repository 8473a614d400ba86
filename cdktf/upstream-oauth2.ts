import type { UpstreamOauth2Credentials, UpstreamOauth2Endpoints, UpstreamOauth2Options } from "./generated/props.ts";

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
