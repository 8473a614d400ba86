/** Client ID metadata documents as we know them now: read when they must be, checked under the settings in force. */
import type { StepResult } from "../answer.ts";
import { parseClientDocument } from "./client-document.ts";
import type { MetadataRules } from "./client-metadata.ts";
import type { ClientMetadata } from "../grant-records.ts";
import type { RemoteDocuments } from "./remote-document.ts";

export interface ClientDocuments {
  /**
   * The metadata of an id whose host is among the allowed ones.
   *
   * @param peer address of whoever names it, whose budget it takes
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
