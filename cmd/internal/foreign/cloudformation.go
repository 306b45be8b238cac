package foreign

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/athanor-dev/athanor/adopt/from/terraform"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// isStackTool reports whether a kind of source is a tool whose stacks are of CloudFormation.
func isStackTool(kind string) bool { return kind == "cloudformation" || kind == "cdk" || kind == "sst" }

// IdentifierOf gives the properties that identify a resource of a type of the registry.
func IdentifierOf(typ string) []string {
	t, err := registry.Lookup(typ)
	if err != nil {
		return nil
	}
	var names []string
	for _, p := range t.ID {
		names = append(names, string(p))
	}
	return names
}

// FieldsOf gives what of a type of the registry can be set, and what can be read.
func FieldsOf(typ string) (settable, readable []props.Field, err error) {
	t, err := registry.Lookup(typ)
	if err != nil {
		return nil, nil, err
	}
	return t.Props(), t.Attrs(), nil
}

// readDeployedStack reads a stack of CloudFormation by its name or its ARN, with ?region=REGION.
func readDeployedStack(ctx context.Context, where string, largest int64) (Source, error) {
	name, query, _ := strings.Cut(where, "?")
	f := Source{Shown: name, File: name, Dir: "."}
	if name == "" {
		return f, cli.Hint(errors.New("which stack? It has no name"), "cloudformation:STACK?region=REGION, or the file of a template")
	}
	settings, err := url.ParseQuery(query)
	if err != nil {
		return f, fmt.Errorf("%s: it is not of the form STACK?region=REGION", name)
	}
	region := settings.Get("region")
	if parts := strings.Split(name, ":"); region == "" && len(parts) == 6 && parts[2] == "cloudformation" {
		region = parts[3]
	}
	cfg, err := project.BucketConfig(region)
	if err != nil {
		return f, err
	}
	if cfg.Region == "" {
		return f, cli.Hint(errors.New("no region is set"), "cloudformation:"+name+"?region=REGION, or $AWS_REGION")
	}
	c := &stackAPI{config: cfg, left: largest}
	stack, err := c.stack(ctx, name, 0)
	if err == nil {
		err = c.exports(ctx, stack)
	}
	if err == nil {
		f.Content, err = stack.File()
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// stackAPI makes the four reading calls of CloudFormation that are needed. Its SDK client would bring all of its operations.
type stackAPI struct {
	config sdk.Config
	left   int64 // bytes that may still be read
}

// answer is what the calls answer.
type stackAnswer struct {
	Template string `xml:"GetTemplateResult>TemplateBody"`
	Stacks   []struct {
		Name       string `xml:"StackName"`
		ID         string `xml:"StackId"`
		Status     string `xml:"StackStatus"`
		Parameters []struct {
			Key      string `xml:"ParameterKey"`
			Value    string `xml:"ParameterValue"`
			Resolved string `xml:"ResolvedValue"`
		} `xml:"Parameters>member"`
		Outputs []struct {
			Key   string `xml:"OutputKey"`
			Value string `xml:"OutputValue"`
		} `xml:"Outputs>member"`
	} `xml:"DescribeStacksResult>Stacks>member"`
	Resources []struct {
		Logical  string `xml:"LogicalResourceId"`
		Physical string `xml:"PhysicalResourceId"`
		Type     string `xml:"ResourceType"`
		Status   string `xml:"ResourceStatus"`
	} `xml:"ListStackResourcesResult>StackResourceSummaries>member"`
	NextResources string `xml:"ListStackResourcesResult>NextToken"`
	Exports       []struct {
		Name  string `xml:"Name"`
		Value string `xml:"Value"`
	} `xml:"ListExportsResult>Exports>member"`
	NextExports string `xml:"ListExportsResult>NextToken"`
}

// mostNestedStacks bounds how deep stacks are nested.
const mostNestedStacks = 10

// stack reads a stack and those nested in it.
func (c *stackAPI) stack(ctx context.Context, name string, depth int) (*terraform.DeployedStack, error) {
	described, err := c.call(ctx, "DescribeStacks", url.Values{"StackName": {name}})
	if err != nil {
		return nil, err
	}
	if len(described.Stacks) != 1 {
		return nil, errors.New("there is no such stack")
	}
	of := described.Stacks[0]
	if strings.HasPrefix(of.Status, "DELETE_COMPLETE") || of.Status == "REVIEW_IN_PROGRESS" {
		return nil, fmt.Errorf("the stack has no resources: its status is %s", of.Status)
	}
	s := &terraform.DeployedStack{
		Name: of.Name, ID: of.ID, Region: c.config.Region, Parameters: map[string]string{}, Outputs: map[string]string{},
		Nested: map[string]*terraform.DeployedStack{},
	}
	if parts := strings.Split(of.ID, ":"); len(parts) > 5 {
		s.Partition, s.Region, s.Account = parts[1], parts[3], parts[4]
	}
	for _, p := range of.Parameters {
		s.Parameters[p.Key] = cmp.Or(p.Resolved, p.Value)
	}
	for _, o := range of.Outputs {
		s.Outputs[o.Key] = o.Value
	}
	template, err := c.call(ctx, "GetTemplate", url.Values{"StackName": {name}, "TemplateStage": {"Processed"}})
	if err != nil {
		return nil, err
	}
	s.Template = template.Template
	for next := ""; ; {
		page := url.Values{"StackName": {name}}
		if next != "" {
			page.Set("NextToken", next)
		}
		listed, err := c.call(ctx, "ListStackResources", page)
		if err != nil {
			return nil, err
		}
		for _, r := range listed.Resources {
			if r.Status == "DELETE_COMPLETE" {
				continue
			}
			s.Resources = append(s.Resources, terraform.DeployedResource{Logical: r.Logical, Physical: r.Physical, Type: r.Type, Status: r.Status})
			if r.Type != "AWS::CloudFormation::Stack" || r.Physical == "" || depth >= mostNestedStacks {
				continue
			}
			if s.Nested[r.Logical], err = c.stack(ctx, r.Physical, depth+1); err != nil {
				return nil, fmt.Errorf("%s: %w", r.Logical, err)
			}
		}
		if next = listed.NextResources; next == "" {
			return s, nil
		}
	}
}

// exports reads the exports of the region, where a template imports any.
func (c *stackAPI) exports(ctx context.Context, s *terraform.DeployedStack) error {
	if !importsAny(s) {
		return nil
	}
	all := map[string]string{}
	for next := ""; ; {
		page := url.Values{}
		if next != "" {
			page.Set("NextToken", next)
		}
		listed, err := c.call(ctx, "ListExports", page)
		if err != nil {
			return err
		}
		for _, e := range listed.Exports {
			all[e.Name] = e.Value
		}
		if next = listed.NextExports; next == "" {
			break
		}
	}
	setImports(s, all)
	return nil
}

func importsAny(s *terraform.DeployedStack) bool {
	if strings.Contains(s.Template, "ImportValue") {
		return true
	}
	for _, nested := range s.Nested {
		if importsAny(nested) {
			return true
		}
	}
	return false
}

func setImports(s *terraform.DeployedStack, all map[string]string) {
	s.Imports = all
	for _, nested := range s.Nested {
		setImports(nested, all)
	}
}

// call makes one signed call.
func (c *stackAPI) call(ctx context.Context, action string, params url.Values) (*stackAnswer, error) {
	params.Set("Action", action)
	params.Set("Version", "2010-05-15")
	body := params.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), strings.NewReader(body))
	if err != nil {
		return nil, errors.New("the endpoint of CloudFormation is no URL")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	request.Header.Set("User-Agent", "athanor")
	credentials, err := c.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	sum := sha256.Sum256([]byte(body))
	if err := signer.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "cloudformation", c.config.Region, time.Now()); err != nil {
		return nil, err
	}
	response, err := c.config.HTTPClient.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, c.left+1))
	if err != nil {
		return nil, err
	}
	if c.left -= int64(len(text)); c.left < 0 {
		return nil, errors.New("it answers with more than is read")
	}
	if response.StatusCode != http.StatusOK {
		var refused struct {
			Code    string `xml:"Error>Code"`
			Message string `xml:"Error>Message"`
		}
		if xml.Unmarshal(text, &refused) != nil || refused.Code == "" {
			return nil, fmt.Errorf("%s: status %d", action, response.StatusCode)
		}
		return nil, fmt.Errorf("%s: %s: %s", action, refused.Code, refused.Message)
	}
	var answer stackAnswer
	if err := xml.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("%s: the answer is no XML", action)
	}
	return &answer, nil
}

// endpoint is where CloudFormation is reached: what the environment says, else AWS.
func (c *stackAPI) endpoint() string {
	if own := os.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"); own != "" {
		return own
	}
	if c.config.BaseEndpoint != nil && *c.config.BaseEndpoint != "" {
		return strings.TrimSuffix(*c.config.BaseEndpoint, "/") + "/"
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(c.config.Region, "cn-") {
		domain += ".cn"
	}
	return "https://cloudformation." + c.config.Region + "." + domain + "/"
}
