/** Client ID metadata documents as we know them now: read when they must be, judged under the settings in force. */
import type { Step } from "./answer.ts";
import { parseClientDocument } from "./client-document.ts";
import type { MetadataRules } from "./client-metadata.ts";
import type { ClientMetadata } from "./records.ts";
import type { RemoteDocuments } from "./remote-document.ts";

export interface ClientDocuments {
  /** The metadata of an id whose host is among the allowed ones. */
  read(clientId: string, rules: MetadataRules): Promise<Step<ClientMetadata>>;
}

export function createClientDocuments(deps: { readonly documents: RemoteDocuments }): ClientDocuments {
  return {
    async read(clientId, rules) {
      const read = await deps.documents.read(clientId, {
        allowed: rules.documentDomains,
        isValid: (document) => parseClientDocument(clientId, document, rules).ok,
      });
      return read.ok ? parseClientDocument(clientId, read.value, rules) : read;
    },
  };
}
