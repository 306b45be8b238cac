// Called with orders of the queue, five at a time at most.
export const handler = async (event) => {
  for (const record of event.Records) {
    const order = JSON.parse(record.body);
    console.log(`ship ${order.id} with a label in ${process.env.LABELS}`);
  }
};
