/**
 * What is live and what a plan would publish, for `gateway diff`: reads `terraform show -json PLAN` from standard input, writes
 * `before.json` and `after.json`.
 *
 * Ends with 1 where the plan does not know all of it yet. Routes whose rules come from sensitive variables are left out: the
 * comment is read by more people than the state.
 */
import { writeFile } from "node:fs/promises";
import { stdin } from "node:process";
import { json } from "node:stream/consumers";

interface Plan {
  readonly resource_changes?: readonly {
    readonly type: string;
    readonly change: {
      readonly before: Bundle | null;
      readonly after: Bundle | null;
      readonly before_sensitive: Marks;
      readonly after_sensitive: Marks;
    };
  }[];
}

interface Bundle {
  readonly bundle_json?: string | null;
}

/** true where a value is sensitive. */
type Marks = boolean | { readonly route?: Readonly<Record<string, unknown>> };

interface Slice {
  readonly routes: Readonly<Record<string, unknown>>;
}

/** What decides who may use a route. */
const RULES = ["policy", "access"];

const { resource_changes: changes = [] } = (await json(stdin)) as Plan;
const change = changes.find(({ type }) => type === "gateway_bundle")?.change;
if (change === undefined) throw new Error("Cannot compare: the plan has no gateway_bundle");
const hidden = [change.before_sensitive, change.after_sensitive].flatMap(namesOf);
await write("before.json", change.before);
await write("after.json", change.after);
if (hidden.length > 0) console.log(`left out, since their rules are sensitive: ${[...new Set(hidden)].join(", ")}`);

function namesOf(marks: Marks): readonly string[] {
  const routes = typeof marks === "object" ? (marks.route ?? {}) : {};
  return Object.keys(routes).filter((name) => {
    const found = (routes as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[name];
    return RULES.some((rule) => JSON.stringify(found?.[rule] ?? false).includes("true"));
  });
}

async function write(file: string, bundle: Bundle | null): Promise<void> {
  const nothing = { version: 1, owner: "nobody", routes: {} };
  if (bundle !== null && typeof bundle.bundle_json !== "string")
    throw new Error("Cannot compare: not all of it is known before apply");
  const slice = bundle === null ? nothing : (JSON.parse(bundle.bundle_json ?? "") as Slice);
  const routes = Object.fromEntries(Object.entries(slice.routes).filter(([name]) => !hidden.includes(name)));
  await writeFile(file, JSON.stringify({ ...slice, routes }));
}
