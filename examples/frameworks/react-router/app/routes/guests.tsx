import { Form, redirect } from "react-router";

export async function loader({ context }) {
  return { last: (await context.env.GUESTS.get("last")) ?? "nobody" };
}

export async function action({ request, context }) {
  const form = await request.formData();
  await context.env.GUESTS.put("last", String(form.get("name")));
  return redirect("/");
}

export default function Guests({ loaderData }) {
  return (
    <Form method="post">
      <p>The last guest was {loaderData.last}.</p>
      <input name="name" />
    </Form>
  );
}
