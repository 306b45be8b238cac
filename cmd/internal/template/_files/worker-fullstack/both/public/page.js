const list = document.querySelector("ul");
const form = document.querySelector("form");

async function show() {
  const entries = await (await fetch("/api/entries")).json();
  list.replaceChildren(
    ...entries.map((entry) => Object.assign(document.createElement("li"), { textContent: entry.text })),
  );
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await fetch("/api/entries", { method: "POST", body: form.elements.text.value });
  form.reset();
  await show();
});

await show();
