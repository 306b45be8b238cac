// Command worker does the work on new items that waits in a queue. Each night it is called without any, and says how many
// items there are.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type worker struct {
	table string
	items *dynamodb.Client
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		panic(err)
	}
	w := worker{os.Getenv("TABLE"), dynamodb.NewFromConfig(cfg)}
	lambda.Start(w.handle)
}

func (w worker) handle(ctx context.Context, event json.RawMessage) error {
	var batch events.SQSEvent
	if err := json.Unmarshal(event, &batch); err != nil {
		return err
	}
	if len(batch.Records) == 0 {
		return w.count(ctx)
	}
	for _, message := range batch.Records {
		if err := w.work(ctx, message.Body); err != nil {
			return err
		}
	}
	return nil
}

// work sets an item to done. Doing it twice is harmless: a queue can deliver a message more than once.
func (w worker) work(ctx context.Context, id string) error {
	_, err := w.items.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression: new("SET #state = :done"), ExpressionAttributeNames: map[string]string{"#state": "state"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":done": &types.AttributeValueMemberS{Value: "done"}},
	})
	return err
}

func (w worker) count(ctx context.Context) error {
	n := 0
	pages := dynamodb.NewScanPaginator(w.items, &dynamodb.ScanInput{TableName: &w.table, Select: types.SelectCount})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		n += int(page.Count)
	}
	fmt.Println("items:", n) // goes to the function's log
	return nil
}
