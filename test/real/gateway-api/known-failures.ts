/** Tests of the suite that fail, each with the reason. One that passes must go from here. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  HTTPRouteHTTPSListener: "hosts that no route names get the gateway's own certificate",
  HTTPRouteHostnameIntersection: "another port in Host is not ignored",
  HTTPRouteMultipleGateways: "all Gateways have one address",
  HTTPRouteRedirectPortAndScheme: "needs plain HTTP and TLS at once, which takes two gateways",
};
