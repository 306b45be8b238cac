// Search: Pagefind's index is loaded when somebody goes to the field. Without script there is the list of pages.
const place = document.getElementById("site-search");
const base = document.currentScript?.dataset.pagefind ?? document.querySelector("script[data-pagefind]").dataset.pagefind;
const field = document.createElement("input");
field.type = "search";
field.placeholder = "Search";
field.setAttribute("aria-label", "Search the documentation");
const list = document.createElement("ol");
list.hidden = true;
place.append(field, list);

let index;
const open = () => (index ??= load());

async function load() {
  const pagefind = await import(base + "pagefind.js");
  await pagefind.options({ ranking: { pageLength: 0.2 } }); // a long page is no worse answer than a short one
  return pagefind;
}

field.addEventListener("focus", open);
field.addEventListener("input", async () => {
  const words = field.value.trim();
  const found = words && (await (await open()).debouncedSearch(words, {}, 120));
  if (!found) {
    list.hidden = !words;
    return;
  }
  const results = await Promise.all(found.results.slice(0, 10).map((r) => r.data()));
  if (field.value.trim() !== words) return; // an answer to words that were typed on came late
  list.dataset.words = words;
  list.replaceChildren(...results.map(row));
  if (results.length === 0) list.append(text("li", "Nothing is found."));
  list.hidden = false;
});
field.addEventListener("keydown", (e) => {
  if (e.key === "Escape") list.hidden = true;
  if (e.key === "Enter") list.querySelector("a")?.click();
});
addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement === document.body) {
    e.preventDefault();
    field.focus();
  }
});

function text(name, words) {
  const e = document.createElement(name);
  e.textContent = words;
  return e;
}

function row(result) {
  const item = document.createElement("li");
  const link = text("a", result.meta.title);
  link.href = result.url;
  const about = document.createElement("p");
  about.innerHTML = result.excerpt; // Pagefind escapes the text and marks words
  item.append(link, about);
  return item;
}
