// A preview while you write, and trying a prompt without a reload.
import { formToken, place, showProblem } from "./page.js";

const TYPING_PAUSE_MS = 250;

/** Send a form, and get one block of the page that answers. */
async function sendForPart(address, form, part, signal) {
  const answer = await fetch(address, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
    headers: { "x-form-token": formToken, "x-part": part },
    signal,
  });
  if (!answer.ok) {
    throw new Error((await answer.json()).error);
  }
  return answer.text();
}

/** Replace a block, and leave somebody who writes in it where they are. */
function placeAround(element, html) {
  const active = document.activeElement;
  const isInside = element.contains(active) && active.id;
  place(element, html);
  const again = isInside ? document.getElementById(active.id) : null;
  if (again) {
    again.value = active.value;
    again.focus();
    again.setSelectionRange?.(active.selectionStart, active.selectionEnd);
  }
}

const edit = document.getElementById("edit");
if (edit) {
  const preview = document.getElementById("preview");
  let timer = 0;
  let asking = null;
  const show = async () => {
    asking?.abort();
    asking = new AbortController();
    try {
      const html = await sendForPart("/ui/prompts/preview", edit, "preview", asking.signal);
      placeAround(preview, html);
    } catch (problem) {
      if (problem.name !== "AbortError") {
        showProblem(preview, problem);
      }
    }
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(show, TYPING_PAUSE_MS);
  };
  document.getElementById("content").addEventListener("input", later);
  preview.addEventListener("input", later);
  edit.addEventListener("submit", (event) => {
    if (event.submitter?.getAttribute("formaction")) {
      event.preventDefault();
      show();
    }
  });
}

const tryForm = document.getElementById("try-form");
tryForm?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const result = document.getElementById("try-result");
  try {
    place(result, await sendForPart(tryForm.action, tryForm, "result"));
  } catch (problem) {
    showProblem(result, problem);
  }
});
