import { DEFAULT_OWNER } from "../runtime/features/process/owners.ts";
import type { RouteDoc } from "../runtime/config/route.ts";
import type { Slice } from "../runtime/config/slice.ts";
import { settingsFields } from "../runtime/config/settings.ts";
import { canonicalDocument, routeBlocks, settingsConfig } from "./synth/bundle-config.ts";
import { type Document, documentFrom } from "./synth/document.ts";
import { Aspects, Construct, type IResolvable, Lazy, TerraformStack } from "./framework.ts";
import { Bundle } from "./generated/bundle.ts";
import type { GatewaySettings } from "./generated/props.ts";
import { GatewayProvider } from "./generated/provider.ts";
import { writeBundleFile } from "./synth/write-bundle.ts";
import { escapeAllForTerraform, escapeForTerraform } from "./synth/terraform-text.ts";
import { type SliceProblems, validateSlice } from "./synth/validate.ts";

/** @internal A route as seen by its gateway. */
export interface GatewayRoute extends Construct {
  readonly routeName: string;
  readonly document: RouteDoc;
}

/** A gateway's slice: settings, and its publishing target. */
export interface GatewayProps extends GatewaySettings {
  /**
   * Name of the slice that this program publishes, one per team or state. Lower-case letters, digits, "-", "_", ".". Not
   * "default", the owner of the settings and routes in the gateway's own file. Changing it replaces the Terraform resource.
   * @default "main"
   */
  readonly owner?: string;
  /**
   * Publish to a directory that a gateway watches.
   * @default - nothing is published; `bundleJson` may be shipped by other means
   */
  readonly file?: FileTarget;
  /**
   * Publish to a running gateway; not together with `file`.
   * @default - nothing is published; `bundleJson` may be shipped by other means
   */
  readonly http?: HttpTarget;
  /**
   * Routes that only Terraform knows, by name, in addition to those of this gateway's constructs: the output of a Terraform
   * module (`module.interpolationForOutput("routes")`), or several with `Fn.merge([…])`. Each is an object with the settings
   * and blocks of a `route` in HCL; `terraform plan` validates them.
   * @default - only the routes of this gateway's constructs
   */
  readonly routes?: IResolvable;
}

/**
 * Publishing to the admin address of a running gateway, which responds when every process serves the bundle: after apply it
 * is active.
 *
 * Terraform reads the admin token: from `tokenRef`, else from `adminToken` of the `GatewayProvider`, else from the
 * environment variable `GATEWAY_ADMIN_TOKEN`. It is in no state and no plan.
 */
export interface HttpTarget {
  /** URL of the admin listener (`admin_address`), such as `http://127.0.0.1:9901`, or of a proxy in front of it. */
  readonly url: string;
  /**
   * `env:NAME` or `file:/path` on the host where Terraform runs.
   * @default - the provider's `adminToken`, else `GATEWAY_ADMIN_TOKEN`
   */
  readonly tokenRef?: string;
}

/** Publishing as `<owner>.json` in a directory, replaced in one step. */
export interface FileTarget {
  /** The directory, created if it does not exist. */
  readonly directory: string;
  /**
   * Permission bits in octal.
   * @default 0644
   */
  readonly mode?: string;
}

const LIVE_FIELDS = settingsFields.filter(({ scope }) => scope === "live");

/**
 * The settings that one owner publishes to the gateway, and the routes created below it.
 *
 * ```ts const gateway = new Gateway(stack, "gateway", { runtimeFlags: { mcp: true }, file: { directory: "/etc/gateway" } });
 * new Route(gateway, "wiki", { … }); ```
 *
 * All becomes one Terraform resource, so an apply changes all of it or nothing.
 */
export class Gateway extends Construct {
  readonly owner: string;
  /** The Terraform resource, for features without a prop here (`addOverride`, `lifecycle`, `importFrom`). */
  readonly bundle: Bundle;
  /** @internal Terraform knows of routes that are not in `slice` */
  readonly hasMoreRoutes: boolean;
  readonly #settings: Document;
  readonly #routes = new Map<string, GatewayRoute>();
  #validated: { readonly routes: number; readonly problems: SliceProblems } | undefined;

  constructor(scope: Construct, id: string, props: GatewayProps = {}) {
    super(scope, id);
    const { owner = DEFAULT_OWNER, file, http, routes, ...settings } = props;
    if (file && http) throw new Error(`Cannot publish gateway "${id}" twice: it has "file" and "http", must have one`);
    this.owner = owner;
    this.hasMoreRoutes = routes !== undefined;
    this.#settings = documentFrom(LIVE_FIELDS, settings, `gateway "${id}"`);
    // The bindings are made from the same fields as the document, so the properties fit.
    this.bundle = new Bundle(this, "Resource", {
      ...settingsConfig(this.#settings),
      owner: escapeForTerraform(owner),
      route: Lazy.anyValue({ produce: () => routeBlocks(this.slice.routes) }),
      ...(file && { file: escapeAllForTerraform(file) as FileTarget }),
      ...(http && { http: escapeAllForTerraform(http) as HttpTarget }),
      ...(routes && { routes }),
    });
    this.node.addValidation({ validate: () => [...this.#problems().gateway] });
    writeBundleFile(this);
    provideProvider(this);
  }

  /** The gateway that a construct belongs to. @throws Error when there is none above it */
  static of(construct: Construct): Gateway {
    const gateway = construct.node.scopes.findLast((scope) => scope instanceof Gateway);
    if (!gateway)
      throw new Error(`Cannot find the gateway of "${construct.node.path}": it must be made below a Gateway`);
    return gateway;
  }

  /** The published slice, in canonical form; strings may contain tokens. */
  get slice(): Slice {
    const routes = [...this.#routes].map(([name, route]) => [name, canonicalDocument(route.document, name)] as const);
    const hasSettings = Object.keys(this.#settings).length > 0;
    return {
      version: 1,
      owner: this.owner,
      ...(hasSettings && { settings: this.#settings }),
      routes: Object.fromEntries(routes),
    };
  }

  /** SHA-256 (hex) of the published slice, as a token. */
  get sha256(): string {
    return this.bundle.sha256;
  }

  /** The slice as JSON, as a token: for a ConfigMap, a bucket object and the like. */
  get bundleJson(): string {
    return this.bundle.bundleJson;
  }

  /** @internal called by routes */
  addRoute(route: GatewayRoute): void {
    const taken = this.#routes.get(route.routeName);
    if (taken) {
      throw new Error(
        `Cannot add route "${route.routeName}" at "${route.node.path}": the gateway has a route of that name ` +
          `at "${taken.node.path}", names must be unique`,
      );
    }
    this.#routes.set(route.routeName, route);
  }

  /** @internal doubtful values that are not errors, shown at synthesis */
  get warnings(): readonly string[] {
    return this.#problems().warnings;
  }

  /** @internal problems that concern one route, for its own validation */
  problemsOf(route: GatewayRoute): string[] {
    return [...(this.#problems().routes.get(route.routeName) ?? [])];
  }

  /** Validates once for all constructs below: each reads its own part, and nothing changes during validation. */
  #problems(): SliceProblems {
    if (this.#validated?.routes !== this.#routes.size) {
      this.#validated = { routes: this.#routes.size, problems: validateSlice(this.slice) };
    }
    return this.#validated.problems;
  }
}

/** Creates the one provider that a stack needs, at synthesis and unconfigured, unless the program created one. */
function provideProvider(gateway: Gateway): void {
  const stack = TerraformStack.of(gateway);
  Aspects.of(stack).add({
    visit(node) {
      if (node !== stack || stack.node.findAll().some((child) => child instanceof GatewayProvider)) return;
      // oxlint-disable-next-line no-new -- a construct registers itself with its scope
      new GatewayProvider(stack, "gateway-provider");
    },
  });
}
