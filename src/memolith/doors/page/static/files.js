// Upload files with progress, and run code without a reload.
import { fetchPart, formToken, place, showProblem } from "./page.js";

const upload = document.getElementById("upload");

/** A line of the list of uploads: a name, a bar, and what came of it. */
function uploadLine(file) {
  const line = document.createElement("li");
  const name = document.createElement("span");
  name.textContent = file.name;
  const state = document.createElement("span");
  state.textContent = "waits";
  const bar = document.createElement("progress");
  bar.max = 100;
  bar.value = 0;
  bar.setAttribute("aria-label", `Upload of ${file.name}`);
  line.append(name, state, bar);
  document.getElementById("uploads").append(line);
  return { line, name, state, bar };
}

function finish(shown, told) {
  const link = document.createElement("a");
  link.href = told.path;
  link.textContent = shown.name.textContent;
  shown.name.replaceChildren(link);
  shown.state.textContent = told.known ? "was taken in before" : "taken in";
  shown.bar.remove();
  for (const warning of told.warnings) {
    const text = document.createElement("span");
    text.className = "warn small";
    text.textContent = warning;
    shown.line.append(text);
  }
}

function fail(shown, message) {
  shown.state.textContent = message;
  shown.state.className = "error";
  shown.bar.remove();
}

/** Send one file; XMLHttpRequest tells how far it is, which fetch does not. */
function send(file, shown) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const body = new FormData();
    body.append("file", file);
    request.open("POST", upload.action);
    request.setRequestHeader("x-form-token", formToken);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      const percent = event.lengthComputable ? Math.round((100 * event.loaded) / event.total) : 0;
      shown.bar.value = percent;
      shown.state.textContent = percent < 100 ? `${percent} %` : "is being read";
    });
    request.addEventListener("load", () => {
      if (request.status === 200 && request.response) {
        finish(shown, request.response);
      } else {
        fail(shown, request.response?.error ?? "The server did not take it; try again.");
      }
      resolve();
    });
    request.addEventListener("error", () => {
      fail(shown, "The connection was lost; try again.");
      resolve();
    });
    request.send(body);
  });
}

/** One after the other, so that the first is there soon and none is refused as one too many. */
async function sendAll(files) {
  const waiting = [...files].map((file) => ({ file, shown: uploadLine(file) }));
  for (const { file, shown } of waiting) {
    await send(file, shown);
  }
  const list = document.getElementById("files");
  place(list, await fetchPart(location.href, "files"));
}

if (upload) {
  const chooser = document.getElementById("file");
  chooser.multiple = true;
  upload.querySelectorAll(".script-only").forEach((element) => (element.hidden = false));
  upload.addEventListener("submit", (event) => {
    event.preventDefault();
    sendAll(chooser.files);
    upload.reset();
  });
  upload.addEventListener("dragover", (event) => {
    event.preventDefault();
    upload.classList.add("over");
  });
  upload.addEventListener("dragleave", () => upload.classList.remove("over"));
  upload.addEventListener("drop", (event) => {
    event.preventDefault();
    upload.classList.remove("over");
    sendAll(event.dataTransfer.files);
  });
}

// The runner.
const runner = document.getElementById("runner-form");

async function run() {
  const result = document.getElementById("run-result");
  const executor = result.querySelector('input[name="executor_id"]');
  const button = runner.querySelector("button");
  button.disabled = true;
  result.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(runner.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(runner)),
      headers: { "x-form-token": formToken, "x-part": "result" },
    });
    if (!answer.ok) {
      throw new Error((await answer.json()).error);
    }
    place(result, await answer.text());
  } catch (problem) {
    showProblem(result, problem);
    result.append(executor);
  } finally {
    button.disabled = false;
    result.removeAttribute("aria-busy");
  }
}

runner?.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
document.getElementById("code")?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    runner.requestSubmit();
  }
});
