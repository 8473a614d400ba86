/** Rules of `gateway_bundle` that are Terraform's and not the gateway's: write-only secrets and the publishing target. */
import { DEFAULT_OWNER, HAND_WRITTEN_OWNER } from "../../features/process/owners.ts";
import { secretAttributeNames } from "../../settings/secret-forms.ts";
import { bundleProblem } from "./bundle-problem.ts";
import { bundleSecrets, routeSecrets, secretPlaces, type SecretPlace } from "./bundle-values.ts";
import type { AttributePath, Diagnostic } from "../protocol/diagnostics.ts";
import { httpProblems } from "../publish/http-rules.ts";
import type { TerraformCaller } from "../protocol/provider.ts";
import { isPublishable, RESERVED_OWNER } from "../publish/publish.ts";
import { ROUTE_BLOCK } from "../schema/schema.ts";
import { blockRoutes } from "./routes-attribute.ts";
import { checkSealKey } from "./seal.ts";
import { isMap, type Value, type ValueMap } from "../protocol/value.ts";

/** @param bundle configured values, including write-only ones */
export function publishingProblems(bundle: ValueMap, caller: TerraformCaller): readonly Diagnostic[] {
  const problems: Diagnostic[] = [];
  const key = bundle["seal_key"] ?? null;
  if (typeof key === "string") {
    const checked = checkSealKey(key);
    if (!checked.ok) problems.push(bundleProblem([{ attribute: "seal_key" }], `"seal_key" ${checked.problem}.`));
  }
  for (const place of allSecretPlaces(bundle)) problems.push(...writeOnlyProblems(place, key, caller));
  const { owner, file, http } = bundle;
  if (typeof owner === "string" && isMap(file) && !isPublishable(owner)) {
    problems.push(
      bundleProblem([{ attribute: "owner" }], `"owner" cannot be published to a directory: ${RESERVED_OWNER}.`),
    );
  }
  if (owner === HAND_WRITTEN_OWNER) {
    const detail = `"owner" is "${owner}", whose is what a gateway's own file says: every gateway refuses a slice of that name. Choose another, such as "${DEFAULT_OWNER}".`;
    problems.push(bundleProblem([{ attribute: "owner" }], detail));
  }
  problems.push(...fileProblems(file), ...httpProblems(http, file));
  return problems;
}

function* allSecretPlaces(bundle: ValueMap): Iterable<SecretPlace> {
  yield* secretPlaces(bundleSecrets, bundle, []);
  for (const [label, route] of Object.entries(blockRoutes(bundle))) {
    yield* secretPlaces(routeSecrets, route, [{ attribute: ROUTE_BLOCK }, { key: label }]);
  }
}

function* writeOnlyProblems(place: SecretPlace, sealKey: Value, caller: TerraformCaller): Iterable<Diagnostic> {
  const { name, values } = place;
  const { plain, reference, sealed, writeOnly, version } = secretAttributeNames(name);
  const has = (attribute: string): boolean => (values[attribute] ?? null) !== null;
  const at = (attribute: string): AttributePath => [...place.path, { attribute }];
  if (!has(writeOnly)) {
    if (has(version))
      yield bundleProblem(at(version), `"${version}" says when "${writeOnly}" changes, but "${writeOnly}" is not set.`);
    return;
  }
  if (!caller.writeOnlyAttributes) {
    yield bundleProblem(
      at(writeOnly),
      `"${writeOnly}" needs Terraform 1.11 or later, which stores no write-only values. Use "${reference}".`,
    );
    return;
  }
  if (!has(version)) {
    yield bundleProblem(
      at(writeOnly),
      `"${writeOnly}" requires "${version}": Terraform cannot see when a write-only value changes.`,
    );
  }
  for (const other of [plain, reference, sealed]) {
    if (has(other))
      yield bundleProblem(
        at(other),
        `"${other}" cannot be combined with "${writeOnly}": a secret is given in one form.`,
      );
  }
  if (sealKey === null) {
    yield bundleProblem(
      at(writeOnly),
      `"${writeOnly}" is encrypted to the gateway before it goes anywhere, which needs its public key: set "seal_key" of this resource to the JWK of the gateway, or use "${reference}".`,
    );
  }
}

function* fileProblems(file: Value | undefined): Iterable<Diagnostic> {
  if (!isMap(file)) return;
  const { directory, mode } = file;
  if (directory === "") yield bundleProblem(fileAttribute("directory"), '"directory" is empty, must be a path.');
  if (typeof mode === "string" && parseMode(mode) === undefined) {
    yield bundleProblem(
      fileAttribute("mode"),
      `"mode" is ${JSON.stringify(mode)}, must be permission bits in octal such as "0640".`,
    );
  }
}

/** "0640" → 0o640; undefined unless three octal digits that let the owner read and write. */
export function parseMode(text: string): number | undefined {
  if (!/^0?[0-7]{3}$/.test(text)) return undefined;
  const mode = Number.parseInt(text, 8);
  return (mode & 0o600) === 0o600 ? mode : undefined;
}

function fileAttribute(attribute: string): AttributePath {
  return [{ attribute: "file" }, { attribute }];
}
