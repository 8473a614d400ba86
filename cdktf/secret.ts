/**
 * A secret in one of its forms.
 *
 * The running gateway resolves a reference, so the secret itself is in no program, plan, state or bundle.
 */
export class Secret {
  /** Suffix of the setting's name: `client_secret`, `client_secret_ref` or `client_secret_sealed`. */
  readonly suffix: "" | "_ref" | "_sealed";
  readonly value: string;

  private constructor(suffix: Secret["suffix"], value: string) {
    this.suffix = suffix;
    this.value = value;
  }

  /** The value of an environment variable of the gateway. */
  static fromEnvironment(name: string): Secret {
    return new Secret("_ref", `env:${name}`);
  }

  /** The content of a file on the gateway's host, by its absolute path. The file is watched. */
  static fromFile(path: string): Secret {
    return new Secret("_ref", `file:${path}`);
  }

  /**
   * A field of an entry in the Vault or OpenBao server of the gateway's main configuration file (`vault`), KV version 2.
   *
   * @param path mount and path: "kv/team-a/app"
   * @param version default: the newest
   */
  static fromVault(path: string, field: string, version?: number): Secret {
    return new Secret("_ref", `vault:${path}#${field}${version === undefined ? "" : `@${version}`}`);
  }

  /** Encrypted to the gateway's public key (compact JWE). */
  static sealed(jwe: string): Secret {
    return new Secret("_sealed", jwe);
  }

  /** The secret itself. It will be readable in the Terraform plan and state and in the bundle. */
  static plainText(secret: string): Secret {
    return new Secret("", secret);
  }
}
