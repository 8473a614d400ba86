/**
 * The construct framework, in one place.
 *
 * No other file here imports `cdktf` (the generated bindings in generated/ apart): `cdktf` was archived in December 2025 and
 * `cdktn` continues it with the same API under another name, and their objects do not mix in one app. One source serves both:
 * `npm run build` writes it a second time with `cdktn` instead of `cdktf`, as the entry point `gateform/cdktn`. Not classes
 * made by a factory over the framework module, because users extend these classes and name them in types.
 */
export { Annotations, App, Aspects, Fn, Lazy, TerraformStack, Token, Tokenization } from "cdktf";
export type { IResolvable, ISynthesisSession } from "cdktf";
export { Construct } from "constructs";
export type { IConstruct } from "constructs";

/**
 * Property of a construct that writes a file at synthesis, like the frameworks' own assets. Both frameworks use this symbol,
 * but do not export the function that sets it.
 */
export const CUSTOM_SYNTHESIS = Symbol.for("cdktf/customSynthesis");
