/** People: who is known here, what acts in their name, and how that is ended. People belong to no owner. */
import { peopleBody } from "../../pages/console/people/people.ts";
import { personBody } from "../../pages/console/people/person.ts";
import { idOfPath } from "../addresses.ts";
import type { Screen } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { confirmPage } from "./confirm-person.ts";
import { emailOf } from "./do-one.ts";
import { peopleView } from "./list-people.ts";
import { personActions } from "./person-actions.ts";
import { personView } from "./person-view.ts";
import type { PeopleDeps } from "./deps.ts";

export function peopleScreen(deps: PeopleDeps): Screen {
  return {
    path: "people",
    group: "Access",
    icon: "people",
    name: "Users",
    isFor: (rights) => rights.may("viewer"),
    async show(visit) {
      if (!visit.rights.may("viewer")) return undefined;
      const userId = idOfPath(visit.path);
      if (userId === undefined) return { title: "Users", body: peopleBody(await peopleView(deps, visit)) };
      if (!isKeyText(userId)) return undefined;
      const what = visit.query.get("do");
      if (what !== undefined) return confirmPage(deps, visit, userId, what);
      const view = await personView(deps, visit, userId);
      const title = (await emailOf(deps.store, userId)) || userId;
      return view && { title: showUntrusted(title), body: personBody(view) };
    },
    actions: personActions(deps),
  };
}

/** A text that cannot be in a key is not an ID of a user. */
function isKeyText(id: string): boolean {
  return id.isWellFormed() && !id.includes("\0") && Buffer.byteLength(id) <= 1000;
}
