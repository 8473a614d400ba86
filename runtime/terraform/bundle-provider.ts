/** The provider as a whole: one resource, a handful of functions. */
import { bundleResource } from "./bundle-resource.ts";
import { functionsByName } from "./functions.ts";
import type { Provider } from "./provider.ts";
import { BUNDLE_TYPE, providerBlock } from "./schema.ts";

export function bundleProvider(): Provider {
  return {
    schema: providerBlock,
    resources: new Map([[BUNDLE_TYPE, bundleResource]]),
    functions: functionsByName,
  };
}
