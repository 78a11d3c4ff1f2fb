// The tree of knowledge: opens all of it at once, and follows the arrow keys.

document.querySelectorAll("[data-fold]").forEach((button) => {
  const tree = document.getElementById(button.dataset.fold);
  button.hidden = false;
  button.addEventListener("click", () => {
    const folded = [...tree.querySelectorAll("details")];
    const isOpening = folded.some((part) => !part.open);
    folded.forEach((part) => (part.open = isOpening));
    button.textContent = isOpening ? "Close all" : "Open all";
  });
});

/** What can be focused in the tree, from top to bottom, as far as it is open. */
function shownParts(tree) {
  return [...tree.querySelectorAll("summary, a")].filter((part) => part.checkVisibility());
}

document.getElementById("tree")?.addEventListener("keydown", (event) => {
  const focused = document.activeElement;
  const folded = focused.closest("details");
  const shown = shownParts(event.currentTarget);
  const place = shown.indexOf(focused);
  const actions = {
    ArrowDown: () => shown[place + 1]?.focus(),
    ArrowUp: () => shown[place - 1]?.focus(),
    ArrowRight: () => {
      if (focused.matches("summary")) {
        folded.open = true;
      }
    },
    ArrowLeft: () => {
      if (folded) {
        folded.open = false;
        folded.querySelector("summary").focus();
      }
    },
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
});
