/** Version of the provider; that of the package, which a test compares. */
export const PROVIDER_VERSION = "0.1.0";
