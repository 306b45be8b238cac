document.querySelector("#notes").textContent = "";
