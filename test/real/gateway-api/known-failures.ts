/** Tests of the suite that fail, each with the reason. One that passes must go from here. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  HTTPRouteMultipleGateways: "Gateways share the addresses of the gateway, unless spec.addresses names some of them",
  HTTPRouteRedirectPortAndScheme: "a route without a host has the addresses of the Gateway, never every host",
};
