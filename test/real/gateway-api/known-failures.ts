/** Tests of the suite that fail, each with the reason. One that passes must go from here. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  HTTPRouteHTTPSListener: "hosts that no route names get the gateway's own certificate",
  HTTPRouteMultipleGateways: "all Gateways have one address",
};
