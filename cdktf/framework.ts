/**
 * The construct framework, in one place.
 *
 * No other file here imports `cdktf` (the generated bindings in generated/ apart): `cdktf` was archived in December
 * 2025 and `cdktn` continues it with the same API under another name, and their objects do not mix in one app. One
 * source serves both: `npm run build` writes it a second time with `cdktn` in the place of `cdktf`, and that is the entry
 * point `gateform/cdktn`. Not classes made by a factory over the framework module, because users extend these classes
 * and name them in types.
 */
export { Annotations, App, Aspects, Fn, Lazy, TerraformStack, Token, Tokenization } from "cdktf";
export type { IResolvable, ISynthesisSession } from "cdktf";
export { Construct } from "constructs";
export type { IConstruct } from "constructs";

/**
 * Property of a construct that has something to write at synthesis, as the frameworks' own assets do. Both know it by
 * this symbol; the function that sets it is not exported.
 */
export const CUSTOM_SYNTHESIS = Symbol.for("cdktf/customSynthesis");
