// What concerns the whole page, installed once in a tab: entries of the history, links, the embedded page, landmarks.
// Without it all still works: Back goes through every bit, and a link loads the app again.
const INSTALLED = Symbol.for("lowprec.page_script");

export default function ({ data: [leadsTo] }) {
  install();
  if (leadsTo) leaveBareAddress(leadsTo);
}

function install() {
  if (window[INSTALLED]) return;
  window[INSTALLED] = true;
  const query = new URLSearchParams(location.search);
  const embedded = query.get("embed") === "true";
  document.documentElement.classList.toggle("lp-embedded", embedded);
  document.documentElement.classList.toggle(
    "lp-no-controls", embedded && query.getAll("embed_options").includes("hide_controls"),
  );
  keepStepsInOneEntry();
  skipTheMenu();
  followLinks(embedded);
  nameTheMenu();
  new MutationObserver(nameTheMenu).observe(document.body, { childList: true, subtree: true });
}

// Streamlit draws the menu as any links: it becomes a landmark, and tells which page is shown.
function nameTheMenu() {
  const menu = document.querySelector(".st-key-menu");
  if (!menu) return;
  if (menu.getAttribute("role") !== "navigation") {
    menu.setAttribute("role", "navigation");
    menu.setAttribute("aria-label", "Pages");
  }
  const entries = menu.querySelectorAll("[class*=st-key-menu-]");
  for (const part of [menu, ...entries]) {
    if (!SIZED.has(part)) SIZES.observe(part);
    SIZED.add(part);
  }
  for (const entry of entries) {
    const link = entry.querySelector("a");
    const isHere = [...entry.classList].some((name) => name.endsWith("-here"));
    if (!link || isHere === (link.getAttribute("aria-current") === "page")) continue;
    if (isHere) {
      link.setAttribute("aria-current", "page");
      scrollTheMenu();
    } else link.removeAttribute("aria-current");
  }
}

// On a telephone the menu is wider than the page: the entry of the page that is shown is brought to its middle, again
// when entries or the style sheet, without which the menu does not scroll, come later.
const SIZES = new ResizeObserver(scrollTheMenu);
const SIZED = new WeakSet();

function scrollTheMenu() {
  const entry = document.querySelector(".st-key-menu [class*=st-key-menu-]:has([aria-current=page])");
  const menu = entry?.closest(".st-key-menu");
  if (menu) menu.scrollLeft = entry.offsetLeft - menu.offsetLeft - (menu.clientWidth - entry.offsetWidth) / 2;
}

// Streamlit's link to the main part leads before the menu, which is in it: it leads to the heading of the page instead.
function skipTheMenu() {
  window.addEventListener("click", (event) => {
    const link = event.composedPath().find((part) => part instanceof Element && part.matches("[data-testid=stSkipToContent]"));
    const heading = document.querySelector("[data-testid=stMain] h1");
    if (!link || !heading) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Streamlit would give the focus to the main part
    heading.setAttribute("tabindex", "-1");
    heading.focus();
  }, true);
}

// The bare address, and a path that is no page, become the first page's, in the same entry of the history: Streamlit's
// own way would add an entry if it is faster than this script, and Back would never get past it.
function leaveBareAddress(path) {
  const first = new URL(path, location.href);
  if (first.pathname === location.pathname) return;
  first.search = location.search;
  history.replaceState({}, "", first);
  window.dispatchEvent(new PopStateEvent("popstate", { state: history.state }));
}

// A run of steps (bits, cells of a grid, the next code, a slider) is one entry: the first step makes it, the others
// replace it. Streamlit calls pushState when the server answers, perhaps after the next click: what was a step is seen
// from the one field that it changed. A text that is typed, or another button, ends the run; it may change that field.
const STEP_BUTTONS = { "st-key-previous": "at", "st-key-next": "at" };

function keepStepsInOneEntry() {
  let field = null;
  const gesture = (event) => {
    const path = event.composedPath().filter((part) => part instanceof Element);
    const step = path.map(fieldOfStep).find(Boolean);
    const isText = path[0]?.matches("input:not([type]), input[type=text], input[type=number], textarea");
    if (step) field = step;
    else if (isText || path.some((part) => part.matches("button:not([role])"))) field = null;
  };
  for (const type of ["pointerdown", "keydown", "click"]) window.addEventListener(type, gesture, true);
  const push = history.pushState;
  history.pushState = function (state, unused, url) {
    const next = new URL(url ?? "", location.href);
    const samePage = next.pathname === location.pathname;
    const isStep = field !== null && samePage && isTheOnlyChange(field, next.searchParams);
    const entry = isStep ? { ...state, lowprecRun: field } : state;
    const isLater = isStep && history.state?.lowprecRun === field;
    if (isLater) history.replaceState(entry, unused, url);
    else push.call(history, entry, unused, url);
  };
}

// The field that a part of the page steps through; undefined if it is no such part.
function fieldOfStep(part) {
  if (part.matches(".bits, .grid, .picture")) return part.dataset.field || undefined;
  for (const [name, field] of Object.entries(STEP_BUTTONS)) if (part.classList.contains(name)) return field;
  const keys = (element) => [...(element?.classList ?? [])].filter((name) => name.startsWith("st-key-"));
  const stepKey = keys(part).find((name) => name.startsWith("st-key-step-"));
  if (stepKey) return stepKey.split("-")[3];
  if (!part.matches("[data-testid=stSlider]")) return undefined;
  return keys(part.closest("[class*=st-key-]"))[0]?.split("-").pop(); // st-key-quantize-block
}

// Whether a link differs from the address in one field alone; a field that is not in the address has its default.
function isTheOnlyChange(field, after) {
  const before = new URLSearchParams(location.search);
  const changed = [...before.keys()].filter((name) => before.get(name) !== after.get(name));
  return changed.every((name) => name === field) && before.get(field) !== after.get(field);
}

// A link to another page of the app does not load the app again: it is followed as Back and Forward are. An embedded
// page stays what it is: its links open outside the frame.
function followLinks(embedded) {
  window.addEventListener("click", (event) => {
    const link = linkOf(event.composedPath());
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented || link.target === "_blank" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin) return;
    event.preventDefault();
    if (embedded) {
      window.open(link.href, "_blank", "noopener");
      return;
    }
    if (link.href === location.href) return;
    history.pushState({}, "", link.href);
    window.dispatchEvent(new PopStateEvent("popstate", { state: history.state }));
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    if (link.hash) scrollToPart(decodeURIComponent(link.hash.slice(1)));
  });
}

// The link among what was clicked, in HTML or in a drawing.
function linkOf(path) {
  const found = path.find((part) => part instanceof Element && part.matches("a[href]"));
  if (!(found instanceof SVGElement)) return found;
  const link = document.createElement("a");
  link.href = found.getAttribute("href");
  return link;
}

// The part of a page that a link names comes into view when the page is drawn and its heading stands still. Streamlit
// scrolls as soon as the heading is there: what is drawn above it later moves it away. A visitor who acts ends this.
function scrollToPart(id) {
  const end = new AbortController();
  const isRunning = () => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState !== "notRunning";
  for (const type of ["wheel", "touchmove", "keydown", "pointerdown", "popstate"]) {
    window.addEventListener(type, () => end.abort(), { capture: true, signal: end.signal });
  }
  let rounds = 0;
  let still = 0;
  let before = null;
  const timer = setInterval(() => {
    const heading = document.getElementById(id);
    if (end.signal.aborted || still === 3 || (rounds += 1) > 150) {
      clearInterval(timer);
      end.abort();
    } else if (heading && !isRunning()) {
      heading.scrollIntoView();
      const top = heading.getBoundingClientRect().top;
      still = top === before ? still + 1 : 0;
      before = top;
    }
  }, 100);
}
