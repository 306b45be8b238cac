const answer = await fetch("/api/notes/today");
document.querySelector("#notes")!.textContent = await answer.text();
