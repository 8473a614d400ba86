/** Short-lived publish tokens, each issued for a run that publishes. */
import { consoleTime, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { textField, timeField, lastColumn, type KindDeps, type ShownKind } from "../kind.ts";
import type { PublishToken } from "../publish-tokens.ts";
import { ending } from "../ending.ts";

export const PUBLISH_TOKEN: ShownKind<PublishToken, Pick<KindDeps, "publishTokens">> = {
  name: "publish-token",
  plural: "publish-tokens",
  command: "publish-tokens list",
  doc: "Short-lived publish tokens, each issued for a publishing job",
  none: "no active publish token",
  fields: [
    textField("id", "ID of the token; it opens nothing", ({ id }) => id),
    textField("owner", "The owner that it publishes for", ({ owner }) => owner),
    timeField("ends", "End unless the job renews it", ({ expiresAt }) => expiresAt),
  ],
  filters: [],
  table: {
    id: "tokens",
    caption: () => "Short-lived publish tokens, each issued for a publishing job",
    columns: [
      { name: "Id", isHead: true, cell: ({ id }) => html`<code>${id}</code>` },
      { name: "Owner", cell: ({ owner }) => foreignText(owner) },
      { name: "Expires unless renewed", kind: "short", cell: ({ expiresAt }) => consoleTime(expiresAt * 1000) },
      lastColumn("end-token", "End", ({ id }) => `publish token ${id}`),
    ],
    empty: emptyState("No active publish tokens", "Tokens appear here while a publishing job runs."),
  },
  idOf: ({ id }) => id,
  userOf: () => undefined,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("publish-token:"),
  page: ({ publishTokens }, { after, limit }) => publishTokens.page({ after, limit }),
  find: ({ publishTokens }, id) => publishTokens.get(id),
  actions: [
    ending("end-token", {
      title: "Revoke publish token",
      effect: "The job can no longer publish.",
      target: ({ id, owner }) => `publish token ${id} of ${owner}`,
      details: ({ owner }) => `valid for owner ${owner}`,
      before: () => "good",
      end: ({ publishTokens }, { id }) => publishTokens.end(id, () => true),
    }),
  ],
};
