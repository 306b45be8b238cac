terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local = { source = "hashicorp/local" }
    null = { source = "hashicorp/null" }
    tls = { source = "hashicorp/tls" }
  }
}
variable "greeting" { default = "hello" }
resource "random_id" "suffix" { byte_length = 4 }
resource "random_password" "db" { length = 20 }
resource "random_pet" "name" {}
resource "random_integer" "port" { 
 min = 1000 
 max = 2000 
}
resource "random_uuid" "u" {}
resource "random_shuffle" "s" { input = ["a","b","c"] }
resource "tls_private_key" "k" { algorithm = "ED25519" }
resource "terraform_data" "t" {
  input = { a = var.greeting, n = 3 }
  triggers_replace = [random_id.suffix.hex]
}
resource "null_resource" "n" { triggers = { id = random_id.suffix.hex } }
resource "local_file" "hello" {
  filename = "${path.module}/out/hello-${random_id.suffix.hex}.txt"
  content  = "${var.greeting} ${random_pet.name.id}\n"
}
resource "local_file" "each" {
  for_each = { a = "1", "b c" = "2" }
  filename = "${path.module}/out/each-${each.key}.txt"
  content  = each.value
}
resource "local_sensitive_file" "pw" {
  filename = "${path.module}/out/pw.txt"
  content  = "password=${random_password.db.result}\n"
}
module "m" {
  source = "./m"
  count  = 2
  index  = count.index
}
moved {
  from = local_file.old
  to   = local_file.hello
}
output "id" { value = random_id.suffix.hex }
output "files" { value = { for k, f in local_file.each : k => f.filename } }
output "pw" { 
 value = random_password.db.result 
 sensitive = true 
}
