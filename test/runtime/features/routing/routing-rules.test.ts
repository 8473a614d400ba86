import { expect, test } from "vitest";

import { routeFields } from "../../../../runtime/config/route.ts";
import { asksUpstream } from "../../../../runtime/features/routing/rules.ts";

test("asksUpstream() knows each setting: an unknown one would be accepted with `redirect` and have no effect", () => {
  const others = routeFields.map(({ name }) => name).filter((name) => !asksUpstream(name));
  expect(others.toSorted()).toEqual(
    [
      "name",
      "title",
      "description",
      "icon",
      "version",
      "documentation_url",
      "contact",
      "catalog",
      "from",
      "prefix",
      "path",
      "regex",
      "regex_priority_order",
      "match_methods",
      "match_headers",
      "match_query",
      "match_priority_order",
      "redirect",
      "response",
      "policy",
      "shadow_policy",
      "allow_public_unauthenticated_access",
      "allow_any_authenticated_user",
      "allowed_users",
      "allowed_domains",
      "allowed_idp_claims",
      "cors_allow_preflight",
      "bearer_token_format",
      "idp_access_token_allowed_audiences",
      "show_error_details",
      "rate_limits",
      "set_response_headers",
    ].toSorted(),
  );
});
