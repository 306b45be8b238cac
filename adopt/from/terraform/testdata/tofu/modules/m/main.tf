variable "index" {}
resource "local_file" "part" {
  filename = "${path.module}/../out/part-${var.index}.txt"
  content  = "part ${var.index}"
}
module "deep" { 
 source = "./part" 
 index = var.index
}
output "file" { value = local_file.part.filename }
