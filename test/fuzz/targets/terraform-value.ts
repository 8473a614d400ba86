/** Values that Terraform sends: refused, or the same again when they are written. */
import { decodeValue, encodeValue } from "../../../runtime/terraform/protocol/value-codec.ts";
import { equalValues, type ValueType } from "../../../runtime/terraform/protocol/value.ts";
import { GatewayError } from "../../../runtime/shared/errors.ts";
import { must, orRefused } from "../oracle.ts";

const TYPES: readonly ValueType[] = [
  "string",
  "number",
  "bool",
  "dynamic",
  ["list", "string"],
  ["map", ["list", "number"]],
  ["object", { name: "string", ports: ["list", "number"], more: "dynamic" }],
];

export function fuzz(data: Uint8Array): void {
  for (const type of TYPES) {
    const value = orRefused(
      (error) => error instanceof GatewayError,
      () => decodeValue(type, data),
    );
    if (value === undefined) continue;
    const again = decodeValue(type, encodeValue(type, value));
    must(equalValues(again, value), "written and read it is another value");
  }
}
