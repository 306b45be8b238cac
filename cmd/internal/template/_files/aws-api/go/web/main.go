// Command web answers the requests of the API.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type server struct {
	table string
	items *dynamodb.Client
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		panic(err)
	}
	lambda.Start(server{os.Getenv("TABLE"), dynamodb.NewFromConfig(cfg)}.handle)
}

func (s server) handle(ctx context.Context, in events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	if in.RouteKey == "POST /items" {
		return s.add(ctx, in.Body)
	}
	return s.show(ctx, in.PathParameters["id"])
}

func (s server) add(ctx context.Context, body string) (events.APIGatewayV2HTTPResponse, error) {
	var item struct{ Name string }
	if err := json.Unmarshal([]byte(body), &item); err != nil || item.Name == "" {
		return answer(http.StatusBadRequest, map[string]string{"error": "send an item with a name"})
	}
	id := rand.Text()
	_, err := s.items.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: map[string]types.AttributeValue{
		"id": text(id), "name": text(item.Name),
	}})
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	return answer(http.StatusCreated, map[string]string{"id": id})
}

func (s server) show(ctx context.Context, id string) (events.APIGatewayV2HTTPResponse, error) {
	found, err := s.items.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: map[string]types.AttributeValue{"id": text(id)}})
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	name, ok := found.Item["name"].(*types.AttributeValueMemberS)
	if !ok {
		return answer(http.StatusNotFound, map[string]string{"error": "there is no such item"})
	}
	return answer(http.StatusOK, map[string]string{"id": id, "name": name.Value})
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func answer(status int, body any) (events.APIGatewayV2HTTPResponse, error) {
	encoded, err := json.Marshal(body)
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status, Headers: map[string]string{"content-type": "application/json"}, Body: string(encoded),
	}, err
}
