/** `gateform/cdktf`: routes, header settings and policies of the gateway as constructs. */
export { Domain } from "./domains.ts";
export { type FileTarget, Gateway, type GatewayProps, type HttpTarget } from "./gateway.ts";
export type {
  AuthorizeLogField,
  BalancingSettings,
  CircuitBreakerThresholds,
  EntraGroups,
  GatewaySettings,
  GroupsResolver,
  HostCertificate,
  GrpcHealthCheck,
  HeaderSettings,
  HealthCheck,
  HealthCheckPayload,
  HttpHealthCheck,
  MaglevLbConfig,
  OutlierDetection,
  ResponseHeaderRewrite,
  RouteRedirect,
  RouteResponse,
  RoutingSettings,
  RuntimeFlags,
  StatusRange,
  TcpHealthCheck,
  UpstreamOauth2Credentials,
  UpstreamOauth2Endpoint,
  UpstreamOauth2Endpoints,
  UpstreamOauth2Options,
} from "./generated/props.ts";
export { GatewayProvider, type GatewayProviderConfig } from "./generated/provider.ts";
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
export { Secret } from "./secret.ts";
export { UpstreamOauth2 } from "./upstream-oauth2.ts";
