// The page works without this script. It adds: "/" moves to the search field, and a link into closed details opens them.
"use strict";
document.addEventListener("keydown", (event) => {
  const field = document.getElementById("find");
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
  if (event.key === "/" && field && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  }
});
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target; box; box = box.parentElement) {
    if (box instanceof HTMLDetailsElement) box.open = true;
  }
}
addEventListener("hashchange", openTarget);
openTarget();
