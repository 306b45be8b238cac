//go:build unix

package bench_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/bench/measure"
)

// adoptionLimit is how long a state of 10,000 resources may take, from the file to the stack that is written.
const adoptionLimit = 10 * time.Second

// BenchmarkAdopt is adopt --from of a state of Terraform with 10,000 resources: networks whose subnets refer to them, queues with tags, roles with
// their policies, and records of Cloudflare. It fails where the mean is over 10 s, which a machine with other work to do may not hold.
func BenchmarkAdopt(b *testing.B) {
	dir := b.TempDir()
	state, err := json.Marshal(hugeState(sized(10_000)))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "huge.tfstate"), state, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	var wall, processor time.Duration
	var held int64
	for n := range b.N {
		cost, err := measure.Run(b.Context(), measure.Command{
			Args: []string{built(b), "adopt", "--from", "huge.tfstate", "--no-observe", "--json", "--out", fmt.Sprintf("out%d", n)}, Dir: dir,
			Env: []string{"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "ATHANOR_STORE="},
		})
		if failed, ok := errors.AsType[*measure.ExitError](err); ok {
			b.Fatalf("%v: %s", err, failed.Cost.Output)
		}
		if err != nil {
			b.Fatal(err)
		}
		wall, processor, held = wall+cost.Wall, processor+cost.CPU, max(held, cost.PeakRSS)
	}
	each := wall / time.Duration(b.N)
	b.ReportMetric(float64(each.Milliseconds()), "ms")
	b.ReportMetric(float64((processor / time.Duration(b.N)).Milliseconds()), "cpu-ms")
	b.ReportMetric(float64(held>>20), "MiB")
	if each > adoptionLimit {
		b.Errorf("10,000 resources take %s, and may take %s", each, adoptionLimit)
	}
}

// hugeState is a state of Terraform with n resources.
func hugeState(n int) map[string]any {
	const region, account = "eu-north-1", "123456789012"
	resource := func(typ, name string, attrs map[string]any, on ...string) map[string]any {
		provider := "hashicorp/aws"
		if typ == "cloudflare_dns_record" {
			provider = "cloudflare/cloudflare"
		}
		return map[string]any{
			"mode": "managed", "type": typ, "name": name, "provider": `provider["registry.terraform.io/` + provider + `"]`,
			"instances": []any{map[string]any{"schema_version": 0, "attributes": attrs, "dependencies": on}},
		}
	}
	arn := func(service, rest string) string {
		return "arn:aws:" + service + ":" + region + ":" + account + ":" + rest
	}
	var all []any
	for i := range n {
		name := fmt.Sprintf("r%d", i)
		tags := map[string]any{"team": fmt.Sprintf("t%d", i%7), "name": name}
		switch i % 10 {
		case 0:
			all = append(all, resource("aws_vpc", name, map[string]any{
				"id": fmt.Sprintf("vpc-%08x", i), "arn": arn("ec2", fmt.Sprintf("vpc/vpc-%08x", i)), "cidr_block": "10.0.0.0/16", "enable_dns_support": true, "tags": tags, "tags_all": tags,
			}))
		case 1, 2, 3:
			network := i - i%10
			all = append(all, resource("aws_subnet", name, map[string]any{
				"id": fmt.Sprintf("subnet-%08x", i), "arn": arn("ec2", fmt.Sprintf("subnet/subnet-%08x", i)), "vpc_id": fmt.Sprintf("vpc-%08x", network),
				"cidr_block": fmt.Sprintf("10.0.%d.0/24", i%250), "availability_zone": region + "a", "map_public_ip_on_launch": false, "tags": tags, "tags_all": tags,
			}, fmt.Sprintf("aws_vpc.r%d", network)))
		case 4, 5:
			url := "https://sqs." + region + ".amazonaws.com/" + account + "/" + name
			all = append(all, resource("aws_sqs_queue", name, map[string]any{
				"id": url, "url": url, "arn": arn("sqs", name), "name": name, "visibility_timeout_seconds": 30 + i%60, "message_retention_seconds": 345600, "max_message_size": 262144,
				"delay_seconds": 0, "receive_wait_time_seconds": i % 20, "fifo_queue": false, "tags": tags, "tags_all": tags,
			}))
		case 6:
			all = append(all, resource("aws_iam_role", name, map[string]any{
				"id": name, "name": name, "arn": "arn:aws:iam::" + account + ":role/" + name, "path": "/", "max_session_duration": 3600, "tags": tags, "tags_all": tags,
				"assume_role_policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"lambda.amazonaws.com"}}]}`,
			}))
		case 7:
			queue := fmt.Sprintf("r%d", i-3)
			all = append(all, resource("aws_iam_role_policy", name, map[string]any{
				"id": fmt.Sprintf("r%d:%s", i-1, name), "name": name, "role": fmt.Sprintf("r%d", i-1),
				"policy": fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:SendMessage","Resource":%q}]}`, arn("sqs", queue)),
			}, fmt.Sprintf("aws_iam_role.r%d", i-1), "aws_sqs_queue."+queue))
		default:
			all = append(all, resource("cloudflare_dns_record", name, map[string]any{
				"id": fmt.Sprintf("%032x", i), "zone_id": fmt.Sprintf("%032x", 1), "name": name + ".shop.example", "type": "A", "content": fmt.Sprintf("192.0.2.%d", i%250), "ttl": 300, "proxied": false,
			}))
		}
	}
	return map[string]any{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "huge", "outputs": map[string]any{}, "resources": all}
}
