/** Client ID metadata documents: fetched when due, and checked under the active settings. */
import type { StepResult } from "../answer.ts";
import { parseClientDocument } from "./client-document.ts";
import type { MetadataRules } from "./client-metadata.ts";
import type { ClientMetadata } from "../grant-records.ts";
import type { RemoteDocuments } from "./remote-document.ts";

export interface ClientDocuments {
  /**
   * Returns the metadata for an id whose host is allowed.
   *
   * @param peer address of the caller, whose budget is charged
   */
  read(clientId: string, rules: MetadataRules, peer?: string): Promise<StepResult<ClientMetadata>>;
}

export function createClientDocuments(deps: { readonly documents: RemoteDocuments }): ClientDocuments {
  return {
    async read(clientId, rules, peer) {
      const read = await deps.documents.read(clientId, {
        allowed: rules.documentDomains,
        isValid: (document) => parseClientDocument(clientId, document, rules).ok,
        ...(peer === undefined ? {} : { peer }),
      });
      return read.ok ? parseClientDocument(clientId, read.value, rules) : read;
    },
  };
}
