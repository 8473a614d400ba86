import { routeFields, type RouteDoc } from "../runtime/config/route.ts";
import { documentFrom } from "./synth/document.ts";
import { Construct } from "./framework.ts";
import { Gateway } from "./gateway.ts";
import type { BalancingSettings, HeaderSettings, RouteSettings, RoutingSettings } from "./generated/props.ts";

/** Settings of every kind of route. */
export interface RouteProps extends RouteSettings, HeaderSettings, RoutingSettings, BalancingSettings {
  /**
   * Name of the route: part of its key, and shown in lists and on pages.
   * @default - the construct's id
   */
  readonly name?: string;
}

/**
 * A route of a web application.
 *
 * ```ts
 * new Route(gateway, "wiki", {
 *   from: "https://wiki.example.com",
 *   to: "http://wiki.internal:8080",
 *   policy: [allow(domain.is("example.com"))],
 * });
 * ```
 */
export class Route extends Construct {
  /** Unique among the routes of the gateway. */
  readonly routeName: string;
  /** The route in the form of a configuration file; strings may contain tokens. */
  readonly document: RouteDoc;

  /**
   * @param scope the gateway, or a construct below it
   * @param mcp @internal added by McpServerRoute and McpClientRoute
   * @throws Error for a name that the gateway already has, and for invalid values
   */
  constructor(scope: Construct, id: string, props: RouteProps, mcp?: object) {
    super(scope, id);
    const { name = id, ...settings } = props;
    this.routeName = name;
    const subject = `route "${name}"`;
    this.document = documentFrom(routeFields, mcp ? { ...settings, mcp } : settings, subject) as unknown as RouteDoc;
    const gateway = Gateway.of(this);
    gateway.addRoute(this);
    this.node.addValidation({ validate: () => gateway.problemsOf(this) });
  }
}
