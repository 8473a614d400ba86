# Publishes the slice that the team reviews as YAML: a plan of a changed one says who gains and who loses what.
terraform {
  required_providers {
    gateway = { source = "gateform/gateway" }
  }
}

variable "directory" {
  description = "Directory that the gateway watches."
  type        = string
}

locals {
  slice = yamldecode(file("${path.module}/desk.yaml"))
  # Terraform has one type for each setting: addresses are a list, a policy is JSON text.
  routes = { for name, route in local.slice.routes : name => merge(route, {
    to     = [route.to]
    policy = jsonencode(route.policy)
  }) }
}

resource "gateway_bundle" "desk" {
  owner  = local.slice.owner
  routes = local.routes
  file {
    directory = var.directory
  }
}
