/** How a route is described to its users, compiled. */
import type { RouteIcon } from "./icon.ts";

export interface AboutRoute {
  readonly about: RouteAbout;
}

export interface RouteAbout {
  /** Display name; not unique. */
  readonly title: string;
  readonly description: string | undefined;
  readonly icon: RouteIcon | undefined;
  readonly version: string | undefined;
  readonly documentationUrl: string | undefined;
  /** https or mailto. */
  readonly contact: string | undefined;
  /** Also listed to readers of the catalog who are not signed in. */
  readonly isPublic: boolean;
}
