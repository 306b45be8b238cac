variable "index" {}
resource "local_file" "deep" {
  for_each = toset(["x", "y"])
  filename = "${path.module}/../../out/deep-${var.index}-${each.key}.txt"
  content  = each.key
}
