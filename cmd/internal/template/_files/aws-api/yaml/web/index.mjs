// Answers the requests of the API. The runtime of Lambda has the packages of @aws-sdk; any other import is bundled.
import { randomUUID } from "node:crypto";
import { DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";

const items = new DynamoDBClient({});
const TableName = process.env.TABLE;

export async function handler(event) {
  return event.routeKey === "POST /items" ? add(event) : show(event.pathParameters.id);
}

async function add(event) {
  const text = event.isBase64Encoded ? Buffer.from(event.body ?? "", "base64").toString() : event.body;
  let name;
  try {
    name = JSON.parse(text).name;
  } catch {
    // It is no JSON, and so it has no name.
  }
  if (typeof name !== "string" || name === "") {
    return answer(400, { error: "send an item with a name" });
  }
  const id = randomUUID();
  await items.send(new PutItemCommand({ TableName, Item: { id: { S: id }, name: { S: name } } }));
  return answer(201, { id });
}

async function show(id) {
  const { Item } = await items.send(new GetItemCommand({ TableName, Key: { id: { S: id } } }));
  return Item ? answer(200, { id, name: Item.name.S }) : answer(404, { error: "there is no such item" });
}

function answer(statusCode, body) {
  return { statusCode, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
