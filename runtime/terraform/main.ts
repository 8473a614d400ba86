/** Bin `terraform-provider-gateway`: Terraform starts it; its help tells users why it does not run by hand. */
import { bundleProvider } from "./resource/bundle-provider.ts";
import { refuseStart, servePlugin, type HandshakeRefusal } from "./protocol/handshake.ts";
import { PROVIDER_SOURCE } from "./schema/schema.ts";
import { PROVIDER_VERSION } from "./version.ts";

const HELP = `terraform-provider-gateway ${PROVIDER_VERSION}

This program is a Terraform plugin. Terraform starts it when a configuration says:

  terraform {
    required_providers {
      gateway = {
        source  = "${PROVIDER_SOURCE}"
        version = "${PROVIDER_VERSION}"
      }
    }
  }

  resource "gateway_bundle" "main" {
    owner = "my-team"
    file {
      directory = "/etc/gateway/slices"
    }
    route "app" {
      from   = "https://app.example.com"
      to     = ["http://app.internal:8080"]
      policy = jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])
    }
  }

Until the provider is in a registry, this makes a directory from which Terraform and OpenTofu install it:

  terraform-provider-gateway mirror DIRECTORY

Apart from that it cannot do anything when started by hand.
`;

const REASONS: Readonly<Record<HandshakeRefusal, string>> = {
  "by-hand": HELP,
  protocol: "terraform-provider-gateway: this Terraform does not speak plugin protocol 6, use Terraform 1.0 or later\n",
  "no-certificate":
    "terraform-provider-gateway: Terraform gave no certificate, and without one no connection is safe\n",
};

const refusal = refuseStart(process.env);
if (refusal) {
  process.stderr.write(REASONS[refusal]);
  process.exitCode = 1;
} else {
  servePlugin(bundleProvider(), process).catch((error: unknown) => {
    process.stderr.write(`terraform-provider-gateway: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
