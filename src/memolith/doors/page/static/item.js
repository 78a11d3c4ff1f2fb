// The page of an item: says so when somebody changed it while a form is open, and proposes items
// to link to.

const note = document.getElementById("changed-meanwhile");
const forms = document.querySelector("[data-while-closed]");

// The answer to a form has the address of the form; the page is loaded anew from its own.
const own = document.querySelector("[data-live-item]").dataset.address;
if (location.pathname.startsWith(own + "/")) {
  history.replaceState(null, "", own);
}

document.addEventListener("memolith-change", (event) => {
  const isThis = event.detail.ids.includes(forms?.dataset.liveItem);
  if (isThis && forms.querySelector("details[open]")) {
    note.textContent = "Somebody changed this item since you opened the form. Save shows their version beside yours and asks you again.";
  }
});

// Items that fit what is typed. The forms may be placed anew, so the events are caught above them.
const TYPING_PAUSE_MS = 150;
let timer = 0;

async function propose(field) {
  const answer = await fetch(`${field.dataset.targets}?${new URLSearchParams({ q: field.value })}`, {
    headers: { "x-part": "targets" },
  });
  if (!answer.ok) {
    return;
  }
  const { items } = await answer.json();
  const options = items.map((item) => {
    const option = document.createElement("option");
    option.value = `${item.title} (${item.id})`;
    return option;
  });
  document.getElementById("targets")?.replaceChildren(...options);
}

document.addEventListener("input", (event) => {
  if (event.target.dataset?.targets) {
    clearTimeout(timer);
    timer = setTimeout(() => propose(event.target), TYPING_PAUSE_MS);
  }
});
