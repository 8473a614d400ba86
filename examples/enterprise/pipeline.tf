# What the pipeline's job applies. It holds no secret: the platform's token about the job becomes a publish token for minutes.
terraform {
  required_providers {
    gateway = { source = "gateform/gateway" }
  }
}

variable "admin_url" {
  type = string
}
variable "origin" {
  type = string
}
variable "build" {
  type = string
}

# The first opens nothing by itself; the second publishes with what it was given.
provider "gateway" {
  alias = "job"
}

ephemeral "gateway_publish_token" "run" {
  provider  = gateway.job
  url       = var.admin_url
  owner     = "builds"
  token_ref = "env:CI_JOB_TOKEN" # GitHub Actions: "github:https://mcp.example.com/publish"
}

provider "gateway" {
  admin_token = ephemeral.gateway_publish_token.run.token
}

resource "gateway_bundle" "builds" {
  owner = "builds"
  http {
    url = var.admin_url
  }
  route "latest" {
    from   = var.origin
    prefix = "/latest"
    policy = jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])
    routing {
      response {
        status = 200
        body   = var.build
      }
    }
  }
}
