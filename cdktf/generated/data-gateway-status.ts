// @ts-nocheck
// Made by generate.ts, do not edit.
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktf from 'cdktf';

// Configuration

export interface DataGatewayStatusConfig extends cdktf.TerraformMetaArguments {
  /**
  * Admin address of the gateway, such as `http://127.0.0.1:9901`.
  *
  */
  readonly url: string;
  /**
  * Where Terraform reads the admin token, or the owner's publish token, on the machine where it runs: `env:NAME` or `file:/path`; for `gateway_publish_token` also the token that a platform gives the job (`publish_workloads` of the owner), of GitHub Actions by `github:AUDIENCE`. Default: `admin_token` of the provider, else the environment variable `GATEWAY_ADMIN_TOKEN`.
  *
  */
  readonly tokenRef?: string;
  /**
  * PEM of the authorities that sign the certificate of the admin address (`admin_tls`), such as `file("ca.pem")`. Default: `ca` of the provider.
  *
  */
  readonly ca?: string;
  /**
  * PEM of the client certificate to present there, if the gateway requires one (`client_ca_file`). Needs `client_key_ref`. Default: those of the provider.
  *
  */
  readonly clientCert?: string;
  /**
  * Where Terraform reads the PEM of its private key, on the machine where it runs: `env:NAME` or `file:/path`.
  *
  */
  readonly clientKeyRef?: string;
}
export interface DataGatewayStatusSlices {
}

export function dataGatewayStatusSlicesToTerraform(struct?: DataGatewayStatusSlices): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  return {
  }
}


export function dataGatewayStatusSlicesToHclTerraform(struct?: DataGatewayStatusSlices): any {
  if (!cdktf.canInspect(struct) || cdktf.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktf.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdk.tf/complex-object-as-configuration");
  }
  const attrs = {
  };
  return attrs;
}

export class DataGatewayStatusSlicesOutputReference extends cdktf.ComplexObject {
  private isEmptyObject = false;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): DataGatewayStatusSlices | undefined {
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: DataGatewayStatusSlices | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
    }
  }

  // owner - computed: true, optional: false, required: false
  public get owner() {
    return this.getStringAttribute('owner');
  }

  // file - computed: true, optional: false, required: false
  public get file() {
    return this.getStringAttribute('file');
  }

  // ok - computed: true, optional: false, required: false
  public get ok() {
    return this.getBooleanAttribute('ok');
  }
}

export class DataGatewayStatusSlicesList extends cdktf.ComplexList {

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktf.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet)
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): DataGatewayStatusSlicesOutputReference {
    return new DataGatewayStatusSlicesOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}

/**
* Represents a gateway_status
*/
export class DataGatewayStatus extends cdktf.TerraformDataSource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gateway_status";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTF code for importing a DataGatewayStatus resource upon running "cdktf plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the DataGatewayStatus to import
  * @param importFromId The id of the existing DataGatewayStatus that should be imported. Refer to the import section in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the DataGatewayStatus to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktf.TerraformProvider) {
        return new cdktf.ImportableResource(scope, importToId, { terraformResourceType: "gateway_status", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new gateway_status Data Source
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options DataGatewayStatusConfig
  */
  public constructor(scope: Construct, id: string, config: DataGatewayStatusConfig) {
    super(scope, id, {
      terraformResourceType: 'gateway_status',
      terraformGeneratorMetadata: {
        providerName: 'gateway',
        providerVersionConstraint: '~> 0.1.0'
      },
      provider: config.provider,
      dependsOn: config.dependsOn,
      count: config.count,
      lifecycle: config.lifecycle,
      provisioners: config.provisioners,
      connection: config.connection,
      forEach: config.forEach
    });
    this._url = config.url;
    this._tokenRef = config.tokenRef;
    this._ca = config.ca;
    this._clientCert = config.clientCert;
    this._clientKeyRef = config.clientKeyRef;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // url - computed: false, optional: false, required: true
  private _url?: string; 
  public get url() {
    return this.getStringAttribute('url');
  }
  public set url(value: string) {
    this._url = value;
  }
  // Temporarily expose input value. Use with caution.
  public get urlInput() {
    return this._url;
  }

  // token_ref - computed: false, optional: true, required: false
  private _tokenRef?: string; 
  public get tokenRef() {
    return this.getStringAttribute('token_ref');
  }
  public set tokenRef(value: string) {
    this._tokenRef = value;
  }
  public resetTokenRef() {
    this._tokenRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenRefInput() {
    return this._tokenRef;
  }

  // ca - computed: false, optional: true, required: false
  private _ca?: string; 
  public get ca() {
    return this.getStringAttribute('ca');
  }
  public set ca(value: string) {
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
    return this.getStringAttribute('client_cert');
  }
  public set clientCert(value: string) {
    this._clientCert = value;
  }
  public resetClientCert() {
    this._clientCert = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientCertInput() {
    return this._clientCert;
  }

  // client_key_ref - computed: false, optional: true, required: false
  private _clientKeyRef?: string; 
  public get clientKeyRef() {
    return this.getStringAttribute('client_key_ref');
  }
  public set clientKeyRef(value: string) {
    this._clientKeyRef = value;
  }
  public resetClientKeyRef() {
    this._clientKeyRef = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyRefInput() {
    return this._clientKeyRef;
  }

  // digest - computed: true, optional: false, required: false
  public get digest() {
    return this.getStringAttribute('digest');
  }

  // generation - computed: true, optional: false, required: false
  public get generation() {
    return this.getNumberAttribute('generation');
  }

  // store_ok - computed: true, optional: false, required: false
  public get storeOk() {
    return this.getBooleanAttribute('store_ok');
  }

  // problems - computed: true, optional: false, required: false
  public get problems() {
    return this.getListAttribute('problems');
  }

  // slices - computed: true, optional: false, required: false
  private _slices = new DataGatewayStatusSlicesList(this, "slices", false);
  public get slices() {
    return this._slices;
  }

  // seal_key - computed: true, optional: false, required: false
  public get sealKey() {
    return this.getStringAttribute('seal_key');
  }

  // =========
  // SYNTHESIS
  // =========

  protected synthesizeAttributes(): { [name: string]: any } {
    return {
      url: cdktf.stringToTerraform(this._url),
      token_ref: cdktf.stringToTerraform(this._tokenRef),
      ca: cdktf.stringToTerraform(this._ca),
      client_cert: cdktf.stringToTerraform(this._clientCert),
      client_key_ref: cdktf.stringToTerraform(this._clientKeyRef),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      url: {
        value: cdktf.stringToHclTerraform(this._url),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      token_ref: {
        value: cdktf.stringToHclTerraform(this._tokenRef),
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
      client_key_ref: {
        value: cdktf.stringToHclTerraform(this._clientKeyRef),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
    };

    // remove undefined attributes
    return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined ))
  }
}
