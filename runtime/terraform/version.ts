/** Version of the provider. */
export { VERSION as PROVIDER_VERSION } from "../shared/version.ts";

/** Version of Terraform's plugin protocol. */
export const PROVIDER_PROTOCOL = "6.0";
