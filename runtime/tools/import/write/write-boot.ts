/** The gateway's own file as YAML. */
import { type Pair, type Scalar, visit } from "yaml";

import { bootDocument } from "../boot-document.ts";
import type { Converted } from "../convert.ts";
import { yamlText } from "../../../shared/json/yaml-text.ts";

const HEAD = ` The gateway's own file: gateway run --config, of this file or of a directory with it and the slices.
 What has to be there before it runs says: gateway check, of this file and of what the program publishes.`;

const OWNERS = " Whose slices are taken, and what they may do.";

export function writeBoot(converted: Converted): string {
  return yamlText(bootDocument(converted), (document) => {
    document.commentBefore = HEAD;
    visit(document, {
      Pair(_, pair) {
        const { key } = pair as Pair<Scalar>;
        if (key.value === "owners") Object.assign(key, { spaceBefore: true, commentBefore: OWNERS });
        return visit.SKIP;
      },
    });
  });
}
