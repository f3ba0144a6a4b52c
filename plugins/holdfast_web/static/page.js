// The page works without this script. It adds: "/" moves to the search field, a link into closed details opens them,
// and while the page is visible, it renews itself when the memory has changed.
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

let version = document.body.dataset.version;
function boxes(main) {
  const times = {};
  return [...main.querySelectorAll("details")].map((box) => {
    const name = `${box.closest("[id]").id} ${box.firstElementChild.textContent.trim()}`;
    times[name] = (times[name] || 0) + 1;
    return [`${name} ${times[name]}`, box];
  });
}
function replace(main, fresh) {
  const at = scrollY, active = document.activeElement;
  const open = new Map(boxes(main).map(([name, box]) => [name, box.open]));
  const inner = [...main.querySelectorAll("[tabindex]")].map((box) => [box.scrollLeft, box.scrollTop]);
  const focused = main.contains(active) && active.outerHTML;
  for (const [name, box] of boxes(fresh)) if (open.has(name)) box.open = open.get(name);
  main.replaceWith(fresh);
  const scrolled = [...fresh.querySelectorAll("[tabindex]")];
  if (scrolled.length === inner.length) scrolled.forEach((box, n) => box.scrollTo(...inner[n]));
  scrollTo({ top: at, behavior: "instant" });
  if (focused) [...fresh.querySelectorAll(active.tagName)].find((one) => one.outerHTML === focused)?.focus({ preventScroll: true });
}
async function renew() {
  if (document.hidden || !getSelection().isCollapsed) return;
  const answer = await fetch(document.body.dataset.poll);
  if (!answer.ok) throw new Error(answer.statusText);
  const latest = await answer.text();
  if (latest === version) return;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const main = document.getElementById("main"), fresh = page.getElementById("main");
  if (!getSelection().isCollapsed || !page.body.dataset.version) return;
  version = page.body.dataset.version;
  if (fresh.innerHTML !== main.innerHTML) replace(main, fresh);
  const alarms = document.getElementById("alarms"), now = page.getElementById("alarms");
  if (alarms.innerHTML !== now.innerHTML) alarms.innerHTML = now.innerHTML;
}
async function watch() {
  try {
    await renew();
    setTimeout(watch, 3000);
  } catch {
    document.getElementById("stale").textContent = "holdfast web has stopped, so this page is no longer renewed.";
  }
}
if (version) {
  setTimeout(watch, 3000);
  document.addEventListener("visibilitychange", () => renew().catch(() => {}));
}
