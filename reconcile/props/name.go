package props

import "strings"

// initialisms are the words that Go writes in capitals and that may stand side by side without a border.
var initialisms = wordSet(`
	ACL ACM ALB AMI API ARN AWS AZ CA CDN CIDR CNAME CORS CPU CSS CSV DB DKIM DLQ DNS DSN EBS EC2 ECR ECS EFS EKS
	ELB FIFO FQDN GB GCM GPU GUID HTML HTTP HTTPS IAM ID IO IOPS IP JSON JWK JWKS JWT KB KMS LB MB MFA MIME NAT NLB
	NS OIDC OS RAM RDS REST RPC S3 SAML SDK SES SHA SLA SMTP SNS SPF SQL SQS SSE SSH SSL SSM STS TCP TLS TTL TXT
	UDP UI UID URI URL UTC UUID VM VPC VPN WAF XML YAML`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// Name is the name of a prop: the Go field's in lower camel case, an initialism being one word
// (VisibilityTimeout is visibilityTimeout, KMSKeyARN is kmsKeyArn). A json tag overrides it.
func Name(goField string) string {
	var b strings.Builder
	for i, w := range words(goField) {
		w = strings.ToLower(w)
		if i > 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		b.WriteString(w)
	}
	return b.String()
}

// words splits a Go name at its capitals.
func words(s string) []string {
	var all []string
	for s != "" {
		n := len("IPv4")
		if !strings.HasPrefix(s, "IPv4") && !strings.HasPrefix(s, "IPv6") {
			n = capitals(s)
		}
		if n > 1 {
			all = append(all, split(s[:n])...)
		} else {
			n = 1
			for n < len(s) && !isCapital(s[n]) {
				n++
			}
			all = append(all, strings.Trim(s[:n], "_"))
		}
		s = s[n:]
	}
	kept := all[:0]
	for _, w := range all {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

// capitals is the length of the run of capitals and digits that s begins with, as far as it is a word of its
// own: the last capital before small letters begins the next word, a plural s ends this one.
func capitals(s string) int {
	n := 0
	for n < len(s) && (isCapital(s[n]) || n > 0 && '0' <= s[n] && s[n] <= '9') {
		n++
	}
	small := n < len(s) && 'a' <= s[n] && s[n] <= 'z'
	switch {
	case !small:
		return n
	case n > 1 && s[n] == 's' && (n+1 == len(s) || isCapital(s[n+1])):
		return n + 1
	}
	for n > 0 && !isCapital(s[n-1]) {
		n-- // digits before small letters belong to no run
	}
	return n - 1
}

func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }

// split cuts a run into initialisms when it consists of nothing else.
func split(run string) []string {
	if run == "IPv4" || run == "IPv6" {
		return []string{run}
	}
	body, plural := strings.CutSuffix(run, "s")
	parts, ok := initialismsOf(body)
	if !ok {
		return []string{run}
	}
	if plural {
		parts[len(parts)-1] += "s"
	}
	return parts
}

func initialismsOf(run string) ([]string, bool) {
	if run == "" {
		return nil, true
	}
	for n := len(run); n > 1; n-- {
		if !initialisms[run[:n]] {
			continue
		}
		if rest, ok := initialismsOf(run[n:]); ok {
			return append([]string{run[:n]}, rest...), true
		}
	}
	return nil, false
}

// Nearest finds the word that somebody who wrote word may have meant, for a "did you mean". ok is false when
// none is near.
func Nearest(word string, from []string) (nearest string, ok bool) {
	best := max(1, min(3, len(word)/3)) + 1
	for _, w := range from {
		d := distance(strings.ToLower(word), strings.ToLower(w))
		if d < best || d == best && ok && w < nearest {
			best, nearest, ok = d, w, true
		}
	}
	return nearest, ok
}

// distance counts the letters to insert, drop, change, or swap with the next one.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
