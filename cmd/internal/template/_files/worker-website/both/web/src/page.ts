const list = document.querySelector("ul")!;
const form = document.querySelector("form")!;

async function show() {
  const guests: string[] = await (await fetch("/api/guests")).json();
  list.replaceChildren(...guests.map((name) => Object.assign(document.createElement("li"), { textContent: name })));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await fetch("/api/guests", { method: "POST", body: String(new FormData(form).get("name")) });
  form.reset();
  await show();
});

await show();
