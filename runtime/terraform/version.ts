/** Version of the provider. */
export { VERSION as PROVIDER_VERSION } from "../shared/version.ts";
