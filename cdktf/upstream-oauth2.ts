import type { UpstreamOauth2Credentials, UpstreamOauth2Endpoints, UpstreamOauth2Options } from "./generated/props.ts";

/** Ways for the gateway to get Internal Tokens for an MCP server with OAuth: one of three. */
export class UpstreamOauth2 {
  readonly settings: UpstreamOauth2Options;

  private constructor(settings: UpstreamOauth2Options) {
    this.settings = settings;
  }

  /** The gateway discovers the endpoints and registers itself. The hosts must be in `mcpAllowedAsMetadataDomains`. */
  static discover(options: UpstreamOauth2Options = {}): UpstreamOauth2 {
    return new UpstreamOauth2(options);
  }

  /** The gateway discovers the endpoints and uses this client. */
  static credentials(credentials: UpstreamOauth2Credentials): UpstreamOauth2 {
    return new UpstreamOauth2(credentials);
  }

  /** Uses this client and these endpoints; nothing is discovered. */
  static endpoints(endpoints: UpstreamOauth2Endpoints): UpstreamOauth2 {
    return new UpstreamOauth2(endpoints);
  }
}
