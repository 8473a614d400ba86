import { parseDomainPattern } from "../runtime/settings/domains.ts";
import { errorText } from "../runtime/shared/errors.ts";
import { hasUnresolved } from "./synth/terraform-text.ts";

/** A validated domain pattern: `example.com`, or `*.example.com` for its subdomains at any depth. */
export class Domain {
  readonly pattern: string;

  private constructor(pattern: string) {
    this.pattern = pattern;
  }

  /** Exactly this domain. @throws Error when it is not a domain name */
  static exactly(domain: string): Domain {
    if (domain.startsWith("*")) {
      throw new Error(`Cannot use domain "${domain}": it has a wildcard, write Domain.subdomainsOf(…)`);
    }
    return Domain.parse(domain);
  }

  /** Every subdomain, but not the domain itself. @throws Error when it is not a domain name */
  static subdomainsOf(domain: string): Domain {
    return Domain.parse(`*.${domain}`);
  }

  /** A pattern in the form of files. @throws Error when it is not valid */
  static parse(pattern: string): Domain {
    // A value of another resource is validated when Terraform knows it.
    if (hasUnresolved(pattern)) return new Domain(pattern);
    try {
      return new Domain(parseDomainPattern(pattern).text);
    } catch (cause) {
      throw new Error(`Cannot use domain "${pattern}": it ${errorText(cause)}`, { cause });
    }
  }
}

/** The patterns of a prop that accepts both forms. */
export function domainPatterns(values: readonly (Domain | string)[]): string[] {
  return values.map((value) => (typeof value === "string" ? Domain.parse(value) : value).pattern);
}
