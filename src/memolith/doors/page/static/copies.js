// Shows how far a copy is while it is being made.
import { fetchPart, place } from "./page.js";

const PAUSE_MS = 700;
const list = document.getElementById("copies");

async function look() {
  try {
    place(list, await fetchPart(location.pathname, "copies"));
  } catch {
    // The server is away; it is asked again.
  }
  watch();
}

function watch() {
  if (list.querySelector("[data-running]")) {
    setTimeout(look, PAUSE_MS);
  }
}

watch();
