/** The provider as a whole: one resource and its list, one data source, one ephemeral resource, actions, functions. */
import { createActions } from "../actions/actions.ts";
import type { AdminConnection } from "../publish/admin-token.ts";
import { createBundleList } from "./bundle-list.ts";
import { createBundleResource } from "./bundle-resource.ts";
import { functionsByName } from "../schema/functions.ts";
import type { Provider } from "../protocol/provider.ts";
import { createPublishToken, PUBLISH_TOKEN_TYPE } from "./publish-token.ts";
import { BUNDLE_TYPE, providerBlock } from "../schema/schema.ts";
import { createStatusDataSource, STATUS_TYPE } from "./status-data-source.ts";

export function bundleProvider(): Provider {
  const connection: AdminConnection = { adminToken: null, ca: null, clientCert: null, clientKey: null };
  return {
    schema: providerBlock,
    configure(config) {
      connection.adminToken = config["admin_token"] ?? null;
      connection.ca = config["ca"] ?? null;
      connection.clientCert = config["client_cert"] ?? null;
      connection.clientKey = config["client_key"] ?? null;
    },
    resources: new Map([[BUNDLE_TYPE, createBundleResource(connection)]]),
    dataSources: new Map([[STATUS_TYPE, createStatusDataSource(connection)]]),
    ephemerals: new Map([[PUBLISH_TOKEN_TYPE, createPublishToken(connection)]]),
    lists: new Map([[BUNDLE_TYPE, createBundleList(connection)]]),
    actions: createActions(connection),
    functions: functionsByName,
  };
}
