// Decide pairs without a reload: by buttons, by keys, or several at once.
import { fetchPart, formToken, place } from "./page.js";

const list = document.getElementById("pairs");
const notice = document.getElementById("decide-notice");
const tools = document.getElementById("decide-tools");
const undoForm = notice.querySelector("form");

function pairs() {
  return [...list.querySelectorAll(".pair")];
}

function ticks() {
  return [...list.querySelectorAll('input[name="pair"]')];
}

/** The pair that has the focus, or the first one if nothing has it. */
function currentPair() {
  const active = document.activeElement;
  if (active === document.body || active.id === "main") {
    return pairs()[0];
  }
  return active.closest(".pair");
}

/** Say what happened, and offer to undo it. */
function tell(message, events) {
  notice.hidden = false;
  notice.classList.remove("error");
  notice.querySelector("p").textContent = message;
  if (undoForm) {
    undoForm.hidden = !events;
    undoForm.elements.events.value = events;
  }
}

function tellProblem(problem) {
  tell(problem.message, "");
  notice.classList.add("error");
}

/** Where the focus is: which pair, which place in the list, which control. */
function focusPlace() {
  const active = document.activeElement;
  const pair = active.closest(".pair");
  if (!pair) {
    return null;
  }
  return {
    key: pair.dataset.pair,
    position: pairs().indexOf(pair),
    control: active.name ? `[name="${active.name}"][value="${CSS.escape(active.value)}"]` : null,
  };
}

function restoreFocus(focus) {
  const present = pairs();
  const same = present.find((pair) => pair.dataset.pair === focus.key);
  if (same) {
    ((focus.control && same.querySelector(focus.control)) || same).focus();
    return;
  }
  const next = present[Math.min(focus.position, present.length - 1)];
  (next ?? document.getElementById("main")).focus();
}

/** Show the list as it is now; what was ticked stays ticked, and the focus stays in its place. */
async function refresh() {
  const html = await fetchPart(location.href, "pairs");
  const ticked = new Set(ticks().filter((box) => box.checked).map((box) => box.value));
  const focus = focusPlace();
  place(list, html);
  if (tools) {
    tools.hidden = pairs().length === 0;
  }
  ticks().forEach((box) => (box.checked = ticked.has(box.value)));
  if (focus) {
    restoreFocus(focus);
  }
}

async function send(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  const headers = { "x-form-token": formToken };
  const answer = await fetch(form.action, { method: "POST", body, headers });
  const told = await answer.json();
  if (!answer.ok) {
    throw new Error(told.error);
  }
  tell(told.message, told.events);
  await refresh();
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-decide]")) {
    return;
  }
  event.preventDefault();
  send(event.target, event.submitter).catch(tellProblem);
});

document.getElementById("tick-all")?.addEventListener("click", () => {
  const all = ticks();
  const isAllTicked = all.every((box) => box.checked);
  all.forEach((box) => (box.checked = !isAllTicked));
});

document.getElementById("kind").addEventListener("change", (event) => event.target.form.submit());

const BUTTONS = { 1: "keep_first", 2: "keep_second", b: "keep_both", m: "merge" };

function move(step) {
  const present = pairs();
  const active = document.activeElement.closest(".pair");
  const from = active ? present.indexOf(active) : -1;
  const to = Math.max(0, Math.min(from + step, present.length - 1));
  present[to]?.focus();
}

function press(key) {
  if (key === "u" && undoForm && !undoForm.hidden && !notice.hidden) {
    undoForm.requestSubmit();
    return;
  }
  if (key === "j" || key === "k") {
    move(key === "j" ? 1 : -1);
    return;
  }
  const pair = currentPair();
  if (key === "x") {
    pair?.querySelector('input[name="pair"]')?.click();
  } else if (BUTTONS[key]) {
    pair?.querySelector(`button[value="${BUTTONS[key]}"]`)?.click();
  }
}

document.addEventListener("keydown", (event) => {
  const isText = event.target.closest('input:not([type="checkbox"]), textarea, select');
  if (isText || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  press(event.key);
});

// What others decide or write is shown, too.
document.addEventListener("memolith-change", () => refresh().catch(tellProblem));
