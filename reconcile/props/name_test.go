package props

import (
	"errors"
	"testing"
)

func TestName(t *testing.T) {
	for goField, want := range map[string]string{
		"VisibilityTimeout": "visibilityTimeout", "KMSKeyARN": "kmsKeyArn", "URL": "url", "ARN": "arn", "DNSName": "dnsName",
		"SSEAlgorithm": "sseAlgorithm", "VPCIDs": "vpcIds", "FIFO": "fifo", "S3Key": "s3Key", "IPv6CIDR": "ipv6Cidr",
		"ID": "id", "IDs": "ids", "SubnetIDs": "subnetIds", "Name": "name", "EC2ID": "ec2Id", "KMSARN": "kmsArn", "VPCCIDR": "vpcCidr",
		"HTTPSPort": "httpsPort", "IPAM": "ipam", "IPAMPool": "ipamPool", "SHA256": "sha256", "Sha256Hash": "sha256Hash", "A": "a",
		"ABTest": "abTest", "DBInstance": "dbInstance", "OIDCURL": "oidcUrl", "EnableIPv4": "enableIpv4", "URLs": "urls",
		"CORSRules": "corsRules", "XRay": "xRay", "Max2Retries": "max2Retries", "Foo_Bar": "fooBar", "TLSv": "tlSv", "ACLs": "acls",
		"DeadLetterQueueARN": "deadLetterQueueArn", "JSONLogs": "jsonLogs", "LambdaVPCConfig": "lambdaVpcConfig", "I": "i", "": "",
	} {
		if have := Name(goField); have != want {
			t.Errorf("%s: have %s, want %s", goField, have, want)
		}
	}
}

func TestNearest(t *testing.T) {
	from := []string{"visibilityTimeout", "fifo", "deadLetter", "name", "tags"}
	for word, want := range map[string]string{
		"visibiltyTimeout": "visibilityTimeout", "FIFO": "fifo", "fiof": "fifo", "tag": "tags", "deadletter": "deadLetter", "x": "", "color": "", "names": "name",
	} {
		if have, ok := Nearest(word, from); have != want || ok != (want != "") {
			t.Errorf("%s: have %s, %v; want %s", word, have, ok, want)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0B": 0, "256KiB": 256 * KiB, "5GB": 5 * GB, "1.5KiB": 1536, "7B": 7, "1 MB": MB, "-2KB": -2 * KB, "8388607TiB": 8388607 * TiB, "9007199254740993.0B": 1<<53 + 1,
		"9007199254740.993KB": 1<<53 + 1, "+1.50KiB": 1536, ".5KiB": 512, "5.KB": 5 * KB,
	} {
		have, err := ParseSize(text)
		if err != nil || have != want {
			t.Errorf("%s: have %d, %v", text, have, err)
		}
		if back, err := ParseSize(have.String()); err != nil || back != have {
			t.Errorf("%s: written %s, read back %d, %v", text, have, back, err)
		}
	}
	for size, want := range map[Size]string{0: "0B", 1024: "1KiB", 1000: "1KB", 1001: "1001B", GiB: "1GiB", -MB: "-1MB"} {
		if size.String() != want {
			t.Errorf("have %s, want %s", size, want)
		}
	}
	for _, text := range []string{"", "5", "GB", "5gb", "1.0001B", "99999999TiB", "0x5B", "1e3B", "5GBB", "--1B", "NaNB", "0.10000000000000000001KiB", "1.00000000000000000000000001B", "1/2KB", "1_0B", ".B"} {
		if have, err := ParseSize(text); !errors.Is(err, errSize) {
			t.Errorf("%q: read as %d", text, have)
		}
	}
}
