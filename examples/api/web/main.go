// Command web answers the requests of the API: it keeps items in a table, and has work on new ones done later.
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
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

type web struct {
	table, queue string
	items        *dynamodb.Client
	work         *sqs.Client
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		panic(err)
	}
	w := web{os.Getenv("TABLE"), os.Getenv("QUEUE"), dynamodb.NewFromConfig(cfg), sqs.NewFromConfig(cfg)}
	lambda.Start(w.answer)
}

func (w web) answer(ctx context.Context, in events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	if in.RouteKey == "POST /items" {
		return w.add(ctx, in.Body)
	}
	return w.show(ctx, in.PathParameters["id"])
}

func (w web) add(ctx context.Context, body string) (events.APIGatewayV2HTTPResponse, error) {
	var item struct{ Name string }
	if err := json.Unmarshal([]byte(body), &item); err != nil || item.Name == "" {
		return answer(http.StatusBadRequest, map[string]string{"error": "want an item with a name"})
	}
	id := rand.Text()
	_, err := w.items.PutItem(ctx, &dynamodb.PutItemInput{TableName: &w.table, Item: map[string]types.AttributeValue{
		"id": text(id), "name": text(item.Name), "state": text("new"),
	}})
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	if _, err := w.work.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &w.queue, MessageBody: &id}); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	return answer(http.StatusCreated, map[string]string{"id": id})
}

func (w web) show(ctx context.Context, id string) (events.APIGatewayV2HTTPResponse, error) {
	found, err := w.items.GetItem(ctx, &dynamodb.GetItemInput{TableName: &w.table, Key: map[string]types.AttributeValue{"id": text(id)}})
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	item := map[string]string{}
	for name, v := range found.Item {
		if s, ok := v.(*types.AttributeValueMemberS); ok {
			item[name] = s.Value
		}
	}
	if len(item) == 0 {
		return answer(http.StatusNotFound, map[string]string{"error": "there is no such item"})
	}
	return answer(http.StatusOK, item)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func answer(status int, body any) (events.APIGatewayV2HTTPResponse, error) {
	encoded, err := json.Marshal(body)
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status, Headers: map[string]string{"content-type": "application/json"}, Body: string(encoded),
	}, err
}
