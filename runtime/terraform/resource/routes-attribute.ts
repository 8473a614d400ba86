/**
 * The `routes` attribute: routes by name as a value of any type, for modules that take routes as a variable or return them as
 * an output.
 *
 * Terraform knows nothing of its members. It stores the value exactly as configured, so the routes are derived again from the
 * configuration and from the state, and equal those of a `route` block.
 */
import { bundleProblem, NOWHERE, sentence } from "./bundle-problem.ts";
import { type AttributePath, type Diagnostic, pathText } from "../protocol/diagnostics.ts";
import { describeValue, valuesOfObject } from "./route-values.ts";
import { ROUTE_BLOCK, ROUTES_ATTRIBUTE, routeBlockFields } from "../schema/schema.ts";
import { Dynamic, isMap, Unknown, UNKNOWN, type Value, type ValueMap } from "../protocol/value.ts";

export interface RoutesReading {
  /** Values in the form of blocks, by name. A completely unknown route is unknown. */
  readonly routes: ValueMap;
  readonly problems: readonly Diagnostic[];
  /** It contains a secret in plain text, which is one of the problems. */
  readonly holdsSecret: boolean;
}

/** Only the routes of the attribute. */
export function readRoutes(bundle: ValueMap): RoutesReading {
  const attribute = bundle[ROUTES_ATTRIBUTE];
  if (!(attribute instanceof Dynamic)) return NONE;
  let reading = readings.get(attribute);
  if (!reading) readings.set(attribute, (reading = readAttribute(attribute.value)));
  return reading;
}

const NONE: RoutesReading = { routes: {}, problems: [], holdsSecret: false };

/** Cached: one plan reads the routes of the same value many times. */
const readings = new WeakMap<Dynamic, RoutesReading>();

function readAttribute(value: Value): RoutesReading {
  if (value === null || value instanceof Unknown) return NONE;
  const problems: Diagnostic[] = [];
  const report = (path: AttributePath, message: string): void => {
    const subject = path.length > ROUTE_DEPTH ? `"${pathText(path.slice(ROUTE_DEPTH))}"` : subjectOf(path);
    problems.push(bundleProblem(path, sentence(`${subject} ${message}`)));
  };
  const top = [{ attribute: ROUTES_ATTRIBUTE }];
  if (!isMap(value)) {
    report(top, `is ${describeValue(value)}, must be a map of objects, each a route by its name`);
    return { ...NONE, problems };
  }
  const routes = Object.entries(value).map(([name, route]): [string, Value] => {
    const path = [...top, { key: name }];
    if (route instanceof Unknown) return [name, route];
    if (isMap(route)) return [name, valuesOfObject(routeBlockFields, route, path, report)];
    report(path, route === null ? "is null: remove it from the map" : `is ${describeValue(route)}, must be an object`);
    return [name, UNKNOWN];
  });
  const holdsSecret = problems.some(({ pointAt }) => pointAt === NOWHERE);
  return { routes: Object.fromEntries(routes), problems, holdsSecret };
}

/** Steps of a path before the settings of a route. */
const ROUTE_DEPTH = 2;

function subjectOf(path: AttributePath): string {
  const step = path[1];
  return step && "key" in step ? `Route "${step.key}"` : `"${ROUTES_ATTRIBUTE}"`;
}

/** Only the routes of blocks. */
export function blockRoutes(bundle: ValueMap): ValueMap {
  const routes = bundle[ROUTE_BLOCK];
  return isMap(routes) ? routes : {};
}

/** All routes of a bundle by name, in the order of their names. */
export function allRoutes(bundle: ValueMap): ValueMap {
  const { routes } = readRoutes(bundle);
  const entries = [...Object.entries(blockRoutes(bundle)), ...Object.entries(routes)];
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Problems of the attribute itself, and in combination with the blocks. */
export function* routesProblems(bundle: ValueMap): Iterable<Diagnostic> {
  const { routes, problems } = readRoutes(bundle);
  yield* problems;
  for (const name of Object.keys(blockRoutes(bundle))) {
    if (!Object.hasOwn(routes, name)) continue;
    const path = [{ attribute: ROUTES_ATTRIBUTE }, { key: name }];
    yield bundleProblem(path, `Route "${name}" is in "routes" and in a "route" block, must be in one of them.`);
  }
}
