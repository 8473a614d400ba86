/** Features of the Gateway API that are served, for `supportedFeatures` of GatewayClasses and the conformance suite. */

export const SUPPORTED_FEATURES: readonly string[] = [
  "BackendTLSPolicy",
  "GRPCRoute",
  "GRPCRouteNamedRouteRule",
  "Gateway",
  "GatewayPort8080",
  "HTTPRoute",
  "HTTPRouteBackendProtocolH2C",
  "HTTPRouteBackendTimeout",
  "HTTPRouteHostRewrite",
  "HTTPRouteMethodMatching",
  "HTTPRouteNamedRouteRule",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePathRewrite",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteSchemeRedirect",
  "ReferenceGrant",
];
