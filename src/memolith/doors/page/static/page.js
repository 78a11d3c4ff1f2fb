// What the pages do beyond links and forms. Every page works without it.

import "./replay.js";

const formToken = document.querySelector('meta[name="form-token"]')?.content ?? "";

/** Ask for one block of a page. */
async function fetchPart(address, part, signal) {
  const answer = await fetch(address, { headers: { "x-part": part }, signal });
  if (answer.status === 401) {
    location.reload();
  }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({ error: answer.statusText }));
    throw new Error(problem.error);
  }
  return answer.text();
}

/** Put HTML of this server into an element; it was escaped when it was made. */
function place(element, html) {
  const made = document.createRange().createContextualFragment(html);
  element.replaceChildren(made);
}

function showProblem(element, problem) {
  const line = document.createElement("p");
  line.className = "error";
  line.setAttribute("role", "alert");
  line.textContent = problem.message;
  element.replaceChildren(line);
}

// Search as you type: the results change, and the address with them.
const TYPING_PAUSE_MS = 60;

function searchAsYouType(form) {
  const results = document.getElementById(form.dataset.liveSearch);
  let timer = 0;
  let asking = null;
  async function search() {
    asking?.abort();
    asking = new AbortController();
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    const address = form.action + "?" + new URLSearchParams(given);
    results.setAttribute("aria-busy", "true");
    try {
      place(results, await fetchPart(address, "results", asking.signal));
      history.replaceState(null, "", address);
    } catch (problem) {
      if (problem.name !== "AbortError") {
        showProblem(results, problem);
      }
    } finally {
      results.removeAttribute("aria-busy");
    }
  }
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, TYPING_PAUSE_MS);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    search();
  });
}
document.querySelectorAll("form[data-live-search]").forEach(searchAsYouType);

// Copy buttons.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) {
    return;
  }
  const text = document.getElementById(button.dataset.copy).textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(document.getElementById(button.dataset.copy));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = "Selected: copy it now";
  }
});

// Light or dark: what the system says, until somebody chooses.
const THEME = "memolith-theme";
function applyTheme(theme) {
  if (theme) {
    document.documentElement.dataset.theme = theme;
  }
}
applyTheme(localStorage.getItem(THEME));
document.querySelector("[data-theme-switch]")?.addEventListener("click", () => {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = isDark ? "light" : "dark";
  localStorage.setItem(THEME, theme);
  applyTheme(theme);
  document.dispatchEvent(new CustomEvent("memolith-theme"));
});

// On a phone the menu scrolls sideways; the entry of this page is to be seen.
const here = document.querySelector('nav[aria-label="Pages"] [aria-current]');
if (here) {
  const menu = here.closest("ul");
  menu.scrollLeft = here.offsetLeft - menu.clientWidth / 2;
}

// The key / goes to the search.
document.addEventListener("keydown", (event) => {
  const inField = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    (document.getElementById("q") ?? document.getElementById("quick-search"))?.focus();
  }
});

// Live: what others write appears without a reload.
const REFRESH_PAUSE_MS = 300;
const REFUSED_PAUSE_MS = 30_000;
const liveState = document.getElementById("live-state");

/** Whether somebody is filling in a form there. */
function isBusyIn(element) {
  const active = document.activeElement;
  const isOpen = "whileClosed" in element.dataset && element.querySelector("details[open]");
  return isOpen || (element.contains(active) && active.matches("input, textarea, select"));
}

/** Whether a change is about what an element shows; one that names no item shows everything. */
function isConcerned(element, change) {
  const item = element.dataset.liveItem;
  return !item || change.ids.includes(item);
}

/** Put new HTML into an element: what was open stays open, and what had the focus keeps it. */
function replaceKeepingPlace(element, html) {
  const open = [...element.querySelectorAll("details[open][id]")].map((details) => details.id);
  const active = element.contains(document.activeElement) ? document.activeElement : null;
  const name = active && (active.id || active.getAttribute("href") || active.getAttribute("aria-label"));
  const newest = Math.max(0, ...[...element.querySelectorAll("[data-event]")].map((row) => Number(row.dataset.event)));
  place(element, html);
  open.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
  if (name) {
    const same = (one) => [one.id, one.getAttribute("href"), one.getAttribute("aria-label")].includes(name);
    [...element.querySelectorAll("a, button, summary, [tabindex]")].find(same)?.focus();
  }
  element.querySelectorAll("[data-event]").forEach((row) => {
    row.classList.toggle("new", newest > 0 && Number(row.dataset.event) > newest);
  });
}

async function refresh(element) {
  if (isBusyIn(element)) {
    return;
  }
  const address = location.href;
  const html = await fetchPart(address, element.dataset.livePart);
  // Meanwhile somebody may have searched for something else, or begun to fill in a form.
  if (location.href === address && !isBusyIn(element)) {
    replaceKeepingPlace(element, html);
  }
}

function listen() {
  const source = new EventSource("/ui/live");
  const waiting = new Set();
  let timer = 0;
  source.addEventListener("open", () => {
    liveState.textContent = "Live";
  });
  source.addEventListener("error", () => {
    liveState.textContent = "Not connected; trying again";
    // A browser tries again by itself, but not after a refusal.
    if (source.readyState === EventSource.CLOSED) {
      setTimeout(listen, REFUSED_PAUSE_MS);
    }
  });
  source.addEventListener("change", (message) => {
    const change = JSON.parse(message.data);
    document.querySelectorAll("[data-live-part]").forEach((element) => {
      if (isConcerned(element, change)) {
        waiting.add(element);
      }
    });
    clearTimeout(timer);
    timer = setTimeout(() => {
      waiting.forEach((element) => {
        refresh(element).catch((problem) => (liveState.textContent = problem.message));
      });
      waiting.clear();
    }, REFRESH_PAUSE_MS);
    document.dispatchEvent(new CustomEvent("memolith-change", { detail: change }));
  });
}
if (document.querySelector('nav[aria-label="Pages"]')) {
  listen();
}

export { fetchPart, formToken, place, showProblem };
