/**
 * `moved` from a bundle of another installation source (a company's own registry, a fork with another namespace) to this one:
 * the same kind of state under another provider's address.
 *
 * Only bundles can become a bundle: a published slice is taken over by an import.
 */
import { isRecord } from "../../shared/is-record.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { MovedState } from "../protocol/provider.ts";
import { blockType } from "../schema/schema-model.ts";
import { BUNDLE_TYPE, BUNDLE_VERSION, bundleSchema, PROVIDER_SOURCE, ROUTE_BLOCK } from "../schema/schema.ts";
import { upgradeBundleState } from "./state.ts";
import { valueFromJson } from "../protocol/value-codec.ts";
import type { ValueMap } from "../protocol/value.ts";

/** @throws GatewayError `terraform.move` */
export function moveBundle({ provider, typeName, version, state }: MovedState): ValueMap {
  const refuse = (reason: string): GatewayError =>
    new GatewayError(
      "terraform.move",
      `Cannot make a ${BUNDLE_TYPE} of "${typeName}" of provider "${provider}": ${reason}`,
    );
  if (typeName !== BUNDLE_TYPE || provider.split("/").at(-1) !== PROVIDER_SOURCE.split("/").at(-1)) {
    throw refuse(
      `only a ${BUNDLE_TYPE} of this provider under another address can be moved; take over what is published with an import`,
    );
  }
  if (version > BUNDLE_VERSION) {
    throw refuse(`its state has version ${version}, this provider knows versions up to ${BUNDLE_VERSION}`);
  }
  if (!isRecord(state) || typeof state["owner"] !== "string" || !isRecord(state[ROUTE_BLOCK])) {
    throw refuse('its state has no "owner" or no routes');
  }
  return valueFromJson(blockType(bundleSchema), upgradeBundleState(state, version)) as ValueMap;
}
