/**
 * Settings of a route that most routes do not have, and that Terraform therefore has in blocks.
 *
 * Only the Terraform surface: files, annotations and constructs write each of them on the route itself. Terraform goes
 * through every member of every route many times a plan, written or not, but never into a block that is not there.
 */
export interface FieldGroup {
  /** Of the block. No setting of the same kind of document has this name. */
  readonly name: string;
  readonly doc: string;
}

export const ROUTING: FieldGroup = {
  name: "routing",
  doc: "Which requests the route takes by pattern, how their path changes on the way, and answers without an upstream.",
};

export const ACCESS: FieldGroup = {
  name: "access",
  doc: "Who may pass beside those whom the policy allows, and how they show who they are.",
};

export const HEADERS: FieldGroup = {
  name: "headers",
  doc: "Rarer rules about headers: Host from the request, values that are secrets, rewritten response headers.",
};

export const UPSTREAM: FieldGroup = {
  name: "upstream",
  doc: "How the gateway speaks to the upstream: protocol, TLS, silences; and with several of them which takes a request, which are left out, how much each is given.",
};
