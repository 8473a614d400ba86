/** `gateform/cdktf`: routes, header settings and policies of the gateway as constructs. */
export type {
  BalancingSettings,
  CircuitBreakerThresholds,
  GrpcHealthCheck,
  HealthCheck,
  HealthCheckPayload,
  HttpHealthCheck,
  MaglevLbConfig,
  OutlierDetection,
  StatusRange,
  TcpHealthCheck,
} from "./balancing.ts";
export { Domain } from "./domains.ts";
export { type FileTarget, Gateway, type GatewayProps, type HttpTarget } from "./gateway.ts";
export { GatewayProvider, type GatewayProviderConfig } from "./generated/provider.ts";
export type { HeaderSettings, ResponseHeaderRewrite } from "./header-settings.ts";
export { gatewayToken, HeaderValue, headerValue, literal, requestHeader } from "./header-value.ts";
export { McpClientRoute } from "./mcp-client-route.ts";
export { McpServerRoute, type McpServerRouteProps } from "./mcp-server-route.ts";
export {
  accept,
  allow,
  and,
  authenticatedUser,
  type CertificateName,
  type CertificateProps,
  claim,
  clientCertificate,
  corsPreflight,
  type Criterion,
  deny,
  device,
  type DeviceProps,
  domain,
  email,
  type Group,
  groups,
  httpMethod,
  httpPath,
  invalidClientCertificate,
  type ListCriterion,
  mcpTool,
  nor,
  not,
  or,
  type PolicyRule,
  reject,
  sourceIp,
  type TextCriterion,
  user,
} from "./policy.ts";
export { Route, type RouteProps } from "./route.ts";
export type { RouteRedirect, RouteResponse, RoutingSettings } from "./routing.ts";
export { Secret } from "./secret.ts";
export type { AuthorizeLogField, GatewaySettings, HostCertificate, RuntimeFlags } from "./settings.ts";
export {
  UpstreamOauth2,
  type UpstreamOauth2Credentials,
  type UpstreamOauth2Endpoint,
  type UpstreamOauth2Endpoints,
  type UpstreamOauth2Options,
} from "./upstream-oauth2.ts";
