/** Who may use a route, beside its policy, and how they show who they are. Rules between them are in access-rules.ts. */
import { quotedWish, wishOf } from "./checks.ts";
import { parseDomainPattern } from "./domains.ts";
import { flag, textList, textListMap } from "./kinds.ts";

export const accessShape = {
  allow_public_unauthenticated_access: flag({
    doc: "Everybody may pass, signed in or not. The policy's deny rules still hold.",
    default: "false",
    annotation: "allow_public_unauthenticated_access",
  }),
  allow_any_authenticated_user: flag({
    doc: "Everybody who is signed in may pass. The policy's deny rules still hold.",
    default: "false",
    annotation: "allow_any_authenticated_user",
  }),
  allowed_users: textList({
    doc: "E-mail addresses or user ids of those who may pass, beside those whom the policy allows.",
    default: "- only the policy allows",
    annotation: "allowed_users",
    check: (value) => (value === "" ? "is empty, must be an e-mail address or a user id" : undefined),
  }),
  allowed_domains: textList({
    doc: "Domains of e-mail addresses whose users may pass, beside those whom the policy allows. Without wildcards.",
    default: "- only the policy allows",
    annotation: "allowed_domains",
    check: (value) =>
      quotedWish(
        value,
        value.includes("*") ? "must be a domain without wildcard" : wishOf(() => parseDomainPattern(value)),
      ),
  }),
  allowed_idp_claims: textListMap({
    doc: "Claims to values: who has one of the values in one of the claims may pass, beside those whom the policy allows.",
    default: "- only the policy allows",
    annotation: "allowed_idp_claims",
  }),
  cors_allow_preflight: flag({
    doc: "CORS preflight requests (OPTIONS with Origin and Access-Control-Request-Method) reach the upstream without sign-in. Not on MCP server routes, where the gateway answers them.",
    default: "false",
    annotation: "cors_allow_preflight",
  }),
};
