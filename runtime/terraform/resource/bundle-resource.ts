/**
 * `gateway_bundle`: one owner's settings and routes, planned field by field and published as a whole.
 *
 * Promises: apply publishes what the plan shows, byte for byte if everything was known; a failed apply changes neither the
 * published slice nor the state; only the owner's own slice is ever written or removed.
 */
import { createRouteMemory } from "../../config/read-route.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { GatewayError } from "../../shared/errors.ts";
import { randomSecret } from "../../shared/keys.ts";
import { accessWarnings } from "./access-warnings.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import { publishedValues, renderSlice, sliceText } from "./bundle-document.ts";
import { bundleIdentity } from "./bundle-identity.ts";
import { importBundle } from "./bundle-import.ts";
import { moveBundle } from "./bundle-move.ts";
import { publishingProblems } from "./bundle-rules.ts";
import { publishBundle, publishedDigest, targetOf } from "../publish/bundle-target.ts";
import { bundleSecrets, type PlanContext, planValues, routeSecrets, sealValues } from "./bundle-values.ts";
import type { AttributePath, Diagnostic } from "../protocol/diagnostics.ts";
import { noStandIn } from "../schema/document.ts";
import { validateBundle } from "./validate-bundle.ts";
import type { Planned, TerraformResource } from "../protocol/provider.ts";
import type { KnownText } from "../publish/publish.ts";
import { failedPublish, gatewayWarnings, notLive, planProblems, publishedAlready } from "./gateway-answers.ts";
import { blockRoutes } from "./routes-attribute.ts";
import { plannedRoutes } from "./routes-state.ts";
import { bundleFields, bundleSchema, ROUTE_BLOCK, routeBlockFields, ROUTES_ATTRIBUTE } from "../schema/schema.ts";
import { sealSecret } from "./seal.ts";
import { upgradeBundleState } from "./state.ts";
import { equalValues, isMap, isWhollyKnown, UNKNOWN, type Value, type ValueMap } from "../protocol/value.ts";

export function createBundleResource(connection: AdminConnection): TerraformResource {
  const memory = createRouteMemory();
  let replacing: ValueMap | undefined;
  // Targets at which a new resource found a slice: Terraform calls one process for all changes of an apply.
  const contested = new Set<string>();
  const kept = new Set<string>();
  return {
    schema: bundleSchema,
    identity: bundleIdentity(connection),

    validate(config, caller) {
      const problems = publishingProblems(config, caller);
      return [...problems, ...validateBundle({ ...config, ...plannedContent(config, null).values }, memory)];
    },

    async plan(prior, config, _, claim) {
      if (config === null) return { ...destroyPlan, diagnostics: await accessWarnings(prior, null) };
      // The claim stays with the resource under another address; a resource that only looks the same has another claim.
      const planned: Planned = { ...planBundle(prior, config), kept: claim === "" ? randomSecret(12) : claim };
      if (prior !== null) kept.add(claim);
      // Terraform plans a replacement a second time as a creation, for which every access would be new.
      const isSecond = prior === null && replacing !== undefined && equalValues(config, replacing);
      replacing = planned.requiresReplace.length > 0 ? config : undefined;
      if (isSecond) return planned;
      const diagnostics = await accessWarnings(prior, planned.state);
      // A replacement first removes the current slice, which frees its hosts.
      const isReplaced = planned.requiresReplace.length > 0 || planned.state === null;
      const problems = isReplaced ? [] : await planProblems(prior, planned.state, connection);
      const taken = prior === null && planned.state ? await publishedAlready(planned.state, kept, connection) : [];
      return { ...planned, diagnostics: [...diagnostics, ...problems, ...taken] };
    },

    async apply(prior, planned, config, claim) {
      if (planned === null) {
        const target = prior ? targetOf(prior, connection) : undefined;
        const isRemoved =
          target === undefined ||
          (!contested.delete(target.place) && (await target.remove(publishedDigest(prior) ?? "", claim)));
        return { state: null, diagnostics: isRemoved ? [] : [keptSlice(target.place)] };
      }
      const bundle = await sealBundle(planned, config ?? planned);
      const known = validateBundle(bundle, memory);
      const problems = known.filter(({ severity }) => severity === "error");
      if (problems.length > 0) return { state: prior, diagnostics: problems };
      const state = { ...bundle, ...computedValues(bundle, prior) };
      refuseSurprise(planned, state);
      try {
        const { warnings, diagnostics } = await publishBundle(prior, state, connection, claim);
        return { state, diagnostics: [...diagnostics, ...gatewayWarnings(warnings, state, known)] };
      } catch (error) {
        const isConflict = error instanceof GatewayError && error.code === "publish.conflict";
        const place = prior === null && isConflict ? targetOf(state, connection)?.place : undefined;
        if (place !== undefined) contested.add(place);
        return failedPublish(error, prior, state, known);
      }
    },

    async read(state) {
      const target = targetOf(state, connection);
      if (!target) return { state, diagnostics: [] };
      const published = await target.read(knownText(state));
      if (published.kind === "absent") return { state: null, diagnostics: [] };
      if (published.kind === "unreadable") {
        // A hash that no content has: the next plan shows that the slice must be rewritten.
        return { state: { ...state, sha256: "" }, diagnostics: [unreadable(target.place, published.reason)] };
      }
      const diagnostics = published.behind ? [notLive(target.place)] : [];
      if (published.digest === state["sha256"]) return { state, diagnostics };
      return { state: { ...state, ...publishedValues(published, state) }, diagnostics };
    },

    importState: (id) => importBundle(id, connection),

    moveState: moveBundle,

    upgradeState: upgradeBundleState,
  };
}

/** The published content according to the state; undefined when it is known to differ. */
function knownText({ sha256: digest, bundle_json: text }: ValueMap): KnownText | undefined {
  return typeof text === "string" && typeof digest === "string" && digest !== "" ? { text, digest } : undefined;
}

const destroyPlan: Planned = { state: null, requiresReplace: [], diagnostics: [] };

/** Validation ran before and reported all problems; here every value only has to be assigned. */
function planBundle(prior: ValueMap | null, config: ValueMap): Planned {
  const { values, replaced } = plannedContent(config, prior);
  const bundle = { ...config, ...values };
  const isKnown = Object.values({ ...values, owner: config["owner"] ?? null }).every(isWhollyKnown);
  const computed = isKnown
    ? computedValues(bundle, prior)
    : { sha256: UNKNOWN, generation: UNKNOWN, bundle_json: UNKNOWN };
  if (prior && !equalValues(config["owner"] ?? null, prior["owner"] ?? null)) replaced.push([{ attribute: "owner" }]);
  return { state: { ...bundle, ...computed }, requiresReplace: replaced, diagnostics: [] };
}

function plannedContent(config: ValueMap, prior: ValueMap | null): { values: ValueMap; replaced: AttributePath[] } {
  const replaced: AttributePath[] = [];
  const resealAll = prior !== null && !equalValues(config["seal_key"] ?? null, prior["seal_key"] ?? null);
  const context: PlanContext = { resealAll, replaced };
  const settings = {
    ...planValues(bundleFields, config, prior, [], context),
    [ROUTES_ATTRIBUTE]: plannedRoutes(config, prior),
  };
  const configured = config[ROUTE_BLOCK] ?? null;
  if (!isMap(configured)) return { values: { ...settings, [ROUTE_BLOCK]: configured }, replaced };
  const before = prior ? blockRoutes(prior) : {};
  const routes = Object.entries(configured).map(([label, route]): [string, Value] => {
    const old = before[label] ?? null;
    const path = [{ attribute: ROUTE_BLOCK }, { key: label }];
    return [label, isMap(route) ? planValues(routeBlockFields, route, isMap(old) ? old : null, path, context) : route];
  });
  return { values: { ...settings, [ROUTE_BLOCK]: Object.fromEntries(routes) }, replaced };
}

/** Attributes computed from completely known content. */
function computedValues(bundle: ValueMap, prior: ValueMap | null): ValueMap {
  const slice = renderSlice(bundle, { standIn: noStandIn, problems: [] });
  const sha256 = digestOf(slice);
  const generation = typeof prior?.["generation"] === "number" ? prior["generation"] : 0;
  if (prior?.["sha256"] === sha256) return { sha256, generation, bundle_json: prior["bundle_json"] ?? null };
  return { sha256, generation: generation + 1, bundle_json: sliceText(slice) };
}

async function sealBundle(planned: ValueMap, config: ValueMap): Promise<ValueMap> {
  const { seal_key: key, owner } = planned;
  const seal = (secret: string): Promise<string> =>
    sealSecret(typeof key === "string" ? key : "", secret, typeof owner === "string" ? owner : undefined);
  const settings = (await sealValues(bundleSecrets, planned, config, seal)) as ValueMap;
  const configured = blockRoutes(config);
  const routes: [string, Value][] = [];
  for (const [label, route] of Object.entries(blockRoutes(planned))) {
    routes.push([label, await sealValues(routeSecrets, route, configured[label] ?? null, seal)]);
  }
  return { ...settings, [ROUTE_BLOCK]: Object.fromEntries(routes) };
}

/** @throws GatewayError `terraform.bug` when apply would publish other content than planned */
function refuseSurprise(planned: ValueMap, state: ValueMap): void {
  const promised = planned["sha256"];
  if (typeof promised !== "string" || promised === state["sha256"]) return;
  throw new GatewayError("terraform.bug", "Cannot publish the bundle: its content is not what the plan showed");
}

/** A resource was renamed, or got another key, without a `moved` block: destroying the old name must not remove its slice. */
function keptSlice(place: string): Diagnostic {
  return {
    severity: "warning",
    summary: "Slice stays published",
    detail: `"${place}" was not removed: another resource publishes it now, or tried to in this apply. If a resource got another name, a "moved" block says so.`,
  };
}

function unreadable(place: string, reason: string): Diagnostic {
  return {
    severity: "warning",
    summary: "Published slice is damaged",
    detail: `"${place}" cannot be read: ${reason}. Applying writes it again.`,
    path: [{ attribute: "file" }],
  };
}
