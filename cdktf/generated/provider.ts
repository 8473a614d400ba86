// @ts-nocheck
// Made by generate.ts, do not edit.
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktf from 'cdktf';

// Configuration

export interface GatewayProviderConfig {
  /**
  * Admin token of the gateway, or the publish token of the owner (`owners.<name>.publish_token`), for publishing with `http`. Not stored in state or plan; can be ephemeral.
  *
  */
  readonly adminToken?: string;
  /**
  * PEM of the authorities that sign the certificate of the admin address (`admin_tls`), such as `file("ca.pem")`. Default: the authorities that Node.js trusts.
  *
  */
  readonly ca?: string;
  /**
  * PEM of the client certificate to present there, if the gateway requires one (`client_ca_file`). Needs `client_key`.
  *
  */
  readonly clientCert?: string;
  /**
  * PEM of its private key. Stored in no state and no plan; may be an ephemeral value.
  *
  */
  readonly clientKey?: string;
  /**
  * Alias name
  *
  */
  readonly alias?: string;
}

/**
* Represents a gateway
*/
export class GatewayProvider extends cdktf.TerraformProvider {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gateway";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTF code for importing a GatewayProvider resource upon running "cdktf plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the GatewayProvider to import
  * @param importFromId The id of the existing GatewayProvider that should be imported. Refer to the import section in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the GatewayProvider to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktf.TerraformProvider) {
        return new cdktf.ImportableResource(scope, importToId, { terraformResourceType: "gateway", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new gateway Resource
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options GatewayProviderConfig = {}
  */
  public constructor(scope: Construct, id: string, config: GatewayProviderConfig = {}) {
    super(scope, id, {
      terraformResourceType: 'gateway',
      terraformGeneratorMetadata: {
        providerName: 'gateway',
        providerVersionConstraint: '~> 0.1.0'
      },
      terraformProviderSource: 'gateform/gateway'
    });
    this._adminToken = config.adminToken;
    this._ca = config.ca;
    this._clientCert = config.clientCert;
    this._clientKey = config.clientKey;
    this._alias = config.alias;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // admin_token - computed: false, optional: true, required: false
  private _adminToken?: string; 
  public get adminToken() {
    return this._adminToken;
  }
  public set adminToken(value: string | undefined) {
    this._adminToken = value;
  }
  public resetAdminToken() {
    this._adminToken = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get adminTokenInput() {
    return this._adminToken;
  }

  // ca - computed: false, optional: true, required: false
  private _ca?: string; 
  public get ca() {
    return this._ca;
  }
  public set ca(value: string | undefined) {
    this._ca = value;
  }
  public resetCa() {
    this._ca = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get caInput() {
    return this._ca;
  }

  // client_cert - computed: false, optional: true, required: false
  private _clientCert?: string; 
  public get clientCert() {
    return this._clientCert;
  }
  public set clientCert(value: string | undefined) {
    this._clientCert = value;
  }
  public resetClientCert() {
    this._clientCert = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientCertInput() {
    return this._clientCert;
  }

  // client_key - computed: false, optional: true, required: false
  private _clientKey?: string; 
  public get clientKey() {
    return this._clientKey;
  }
  public set clientKey(value: string | undefined) {
    this._clientKey = value;
  }
  public resetClientKey() {
    this._clientKey = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyInput() {
    return this._clientKey;
  }

  // alias - computed: false, optional: true, required: false
  private _alias?: string; 
  public get alias() {
    return this._alias;
  }
  public set alias(value: string | undefined) {
    this._alias = value;
  }
  public resetAlias() {
    this._alias = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get aliasInput() {
    return this._alias;
  }

  // =========
  // SYNTHESIS
  // =========

  protected synthesizeAttributes(): { [name: string]: any } {
    return {
      admin_token: cdktf.stringToTerraform(this._adminToken),
      ca: cdktf.stringToTerraform(this._ca),
      client_cert: cdktf.stringToTerraform(this._clientCert),
      client_key: cdktf.stringToTerraform(this._clientKey),
      alias: cdktf.stringToTerraform(this._alias),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      admin_token: {
        value: cdktf.stringToHclTerraform(this._adminToken),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      ca: {
        value: cdktf.stringToHclTerraform(this._ca),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      client_cert: {
        value: cdktf.stringToHclTerraform(this._clientCert),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      client_key: {
        value: cdktf.stringToHclTerraform(this._clientKey),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      alias: {
        value: cdktf.stringToHclTerraform(this._alias),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
    };

    // remove undefined attributes
    return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined ))
  }
}
