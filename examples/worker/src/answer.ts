export interface Order {
  id: number;
  what: string;
  state: string;
}

export const answer = (greeting: string, order: Order, count: number) => ({
  ...order,
  said: `${greeting} ${order.what}: you are number ${count}`,
});
