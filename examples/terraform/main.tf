# The teams' routes are data, in teams.yaml; the module turns them into one bundle.

variable "directory" {
  description = "Directory that the gateway watches; null to render the bundle only."
  type        = string
  default     = null
}

module "routes" {
  source    = "./routes"
  owner     = "platform"
  directory = var.directory
}

output "sha256" {
  description = "Digest of what is published; the gateway's status shows the same."
  value       = module.routes.sha256
}
