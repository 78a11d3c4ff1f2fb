// The search page: tells people who cannot see the list how many hits there are, and copies a
// context at once.
import { fetchPart } from "./page.js";

const results = document.getElementById("results");
const announced = document.getElementById("result-count");

function announce() {
  const count = results.querySelector("[data-count]")?.textContent.trim() ?? "";
  if (count && announced.textContent !== count) {
    announced.textContent = count;
  }
}

/** Without a script, the link to the page of the context is enough. */
function offerCopying() {
  results.querySelectorAll("[data-copy-context]").forEach((link) => (link.hidden = false));
}

async function copyContext(link) {
  try {
    const html = await fetchPart(link.href, "packed");
    const made = document.createRange().createContextualFragment(html);
    await navigator.clipboard.writeText(made.textContent);
    link.textContent = "Copied";
    announced.textContent = "The context is copied.";
  } catch {
    location.href = link.href;
  }
}

function shown() {
  announce();
  offerCopying();
}
new MutationObserver(shown).observe(results, { childList: true });
offerCopying();
results.addEventListener("click", (event) => {
  const link = event.target.closest("[data-copy-context]");
  if (link) {
    event.preventDefault();
    copyContext(link);
  }
});
