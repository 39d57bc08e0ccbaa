// A picture: one or two drawings of the server, of which the one that fits is shown; clicks, bits, a dragged number,
// saving. It looks up texts and places that the server sent and moves shapes; it computes no value.
// What a reader changes is painted at once and counted (seq); the server's drawing is taken over only if it has the
// newest count, so that a change during a run is not lost.
const states = new WeakMap();

export default function (component) {
  const { data: [data], parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".picture");
  const state = states.get(root) ?? { seq: -1, root, width: 0 };
  const isNew = !states.has(root);
  states.set(root, state);
  state.send = setStateValue;
  root.dataset.field = data.bits?.field ?? data.drag?.field ?? "";
  if (data.seq >= state.seq) {
    state.seq = data.seq;
    state.data = data;
    state.bits = data.bits?.bits;
    state.place = data.drag?.start;
    state.shown = null;
    if (state.dragging) state.late = true; // shown when the drag ends
    else draw(state);
  }
  if (isNew) {
    state.observer = new ResizeObserver(() => draw(state));
    state.observer.observe(root);
  }
  return () => { state.observer?.disconnect(); states.delete(root); };
}

function draw(state) {
  const { data, root } = state;
  const fitting = root.clientWidth === 0 ? 0 : data.drawings.findIndex((one) => root.clientWidth >= one.least);
  const index = fitting < 0 ? data.drawings.length - 1 : fitting;
  if (state.shown === index || state.dragging) return;
  const focused = root.getRootNode().activeElement?.dataset;
  const key = focused && keyOf(focused);
  state.shown = index;
  state.drawing = data.drawings[index];
  const svg = document.importNode(parsed(state.drawing.svg), true);
  svg.style.maxWidth = `${svg.getAttribute("width")}px`;
  svg.setAttribute("width", "100%");
  svg.removeAttribute("height");
  const place = root.querySelector(".place");
  place.replaceChildren(svg);
  state.svg = svg;
  listen(state);
  if (state.bits !== data.bits?.bits) paintBits(state);
  if (state.place !== data.drag?.start) paintPlace(state);
  saving(state);
  if (key !== undefined) {
    [...svg.querySelectorAll("[data-set],[data-bit],[data-code],[data-grid],[data-drag],[data-sort]")]
      .find((one) => keyOf(one.dataset) === key)?.focus();
  }
}

// What tells a shape that has the focus from others, in this drawing and in the next.
function keyOf(found) {
  return found.set ?? found.sort ?? found.bit ?? found.key ?? found.codePart ?? found.code ?? (found.drag === undefined ? undefined : "drag");
}

function listen(state) {
  const { svg, data } = state;
  const clickable = [...svg.querySelectorAll("[data-set]")];
  svg.querySelectorAll("[data-grid]").forEach((one, index) => listenToGrid(state, one, `grid ${index}`));
  state.bitShapes = [...svg.querySelectorAll("[data-bit]")];
  listenToRows(state);
  rove(clickable, (one) => set(state, one.dataset.set));
  for (const one of clickable) one.addEventListener("click", () => set(state, one.dataset.set));
  rove(state.bitShapes, (one) => flip(state, Number(one.dataset.bit)), { vertical: (up) => step(state, up) });
  state.codeShapes = [...svg.querySelectorAll("[data-code]")];
  for (const one of state.codeShapes) one.addEventListener("click", () => go(state, one));
  rove(state.codeShapes.filter((one) => one.dataset.codePart), (one) => go(state, one));
  for (const grid of svg.querySelectorAll("[data-columns]")) {
    rove([...grid.querySelectorAll("[data-code]")], (one) => go(state, one), { columns: Number(grid.dataset.columns) });
  }
  if (data.bits) mark(state);
  state.bitShapes.forEach((one, index) => {
    one.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      if (one.hasPointerCapture(event.pointerId)) one.releasePointerCapture(event.pointerId); // touch captures
      one.focus();
      state.stroke = state.bits[index] === "1" ? "0" : "1";
      setBit(state, index, state.stroke);
    });
    one.addEventListener("pointerenter", () => {
      if (state.stroke && state.bits[index] !== state.stroke) setBit(state, index, state.stroke);
    });
    one.addEventListener("click", (event) => { if (event.detail === 0) flip(state, index); }); // a reader of the screen
  });
  svg.addEventListener("pointerup", () => { state.stroke = null; });
  svg.addEventListener("pointerleave", () => { state.stroke = null; });
  svg.addEventListener("pointercancel", () => { state.stroke = null; });
  if (data.drag) listenToDrag(state);
}

// One of several shapes is reached by Tab, the others by the arrow keys.
// Up and down do something of their own where that is given (`vertical`), and go by rows in a grid of some columns.
function rove(shapes, act, { vertical, columns = 1 } = {}) {
  shapes.forEach((one, index) => {
    one.setAttribute("tabindex", index === 0 ? "0" : "-1");
    one.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ...(vertical ? {} : { ArrowUp: -columns, ArrowDown: columns }) };
      const target = { Home: 0, End: shapes.length - 1 }[event.key]
        ?? (event.key in by ? index + by[event.key] : undefined);
      if (target !== undefined) shapes[Math.max(0, Math.min(shapes.length - 1, target))].focus();
      else if (event.key === "Enter" || event.key === " ") act(one);
      else if (vertical && /^Arrow(Up|Down)$/.test(event.key)) vertical(event.key === "ArrowUp", one);
      else return;
      event.preventDefault();
    });
    one.addEventListener("focus", () => shapes.forEach((other) => {
      other.setAttribute("tabindex", other === one ? "0" : "-1");
    }));
  });
}

function send(state, message) {
  state.seq += 1;
  state.send("clicked", { ...message, seq: state.seq });
}

function set(state, text) {
  const [field, value] = [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)];
  send(state, { field, value });
}

// ---- a grid of cells, one of which is chosen

function listenToGrid(state, one, key) {
  one.dataset.key = key; // of the focus, which a new drawing keeps
  const [field, numbers] = one.dataset.grid.split("=");
  const [rows, columns, top, left, row, column] = numbers.split(",").map(Number);
  const within = (place, count) => Math.max(0, Math.min(count - 1, place));
  const choose = (down, across) => {
    send(state, { field, value: `${top + within(down, rows)},${left + within(across, columns)}` });
  };
  one.addEventListener("click", (event) => {
    const box = one.getBoundingClientRect();
    const [down, across] = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    choose(Math.floor(down * rows), Math.floor(across * columns));
  });
  one.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(row - top + step[0], column - left + step[1]);
  });
}

// ---- rows in an order: each is dragged by its handle, or moved by the up and down keys, to another place

function listenToRows(state) {
  const handles = [...state.svg.querySelectorAll("[data-sort]")];
  if (handles.length < 2) return;
  const order = [...handles]; // as it is seen, perhaps before the server knows
  const top = (place) => handles[place].getBBox().y;
  const topOf = (one) => top(handles.indexOf(one));
  const show = (moved, at) => order.forEach((one, place) => {
    one.parentNode.setAttribute("transform", `translate(0 ${(one === moved ? at : top(place)) - topOf(one)})`);
  });
  const move = (one, place) => {
    const to = Math.max(0, Math.min(order.length - 1, place));
    order.splice(to, 0, ...order.splice(order.indexOf(one), 1));
  };
  const [field] = handles[0].dataset.sort.split("=", 1);
  const text = () => `${field}=${order.map((one) => one.dataset.sort.slice(field.length + 1)).join()}`;
  const tell = (before) => {
    show();
    if (text() !== before) set(state, text());
  };
  rove(handles, () => {}, { vertical: (up, one) => {
    const before = text();
    move(one, order.indexOf(one) + (up ? -1 : 1));
    tell(before);
  } });
  for (const one of handles) {
    let start = null;
    one.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      one.focus({ preventScroll: true });
      one.setPointerCapture(event.pointerId);
      state.dragging = true;
      start = { y: event.clientY, top: top(order.indexOf(one)), text: text() };
    });
    one.addEventListener("pointermove", (event) => {
      if (!start) return;
      const at = start.top + (event.clientY - start.y) / state.svg.getScreenCTM().d;
      move(one, Math.round((at - top(0)) / (top(1) - top(0))));
      show(one, at);
    });
    const end = () => {
      if (!start) return;
      state.dragging = false;
      tell(start.text);
      start = null;
      if (state.late) [state.late, state.shown] = [false, null];
      if (state.shown === null) draw(state);
    };
    one.addEventListener("pointerup", end);
    one.addEventListener("pointercancel", end);
  }
}

// ---- bits

function flip(state, index) {
  setBit(state, index, state.bits[index] === "1" ? "0" : "1");
}

function setBit(state, index, bit) {
  changeBits(state, state.bits.slice(0, index) + bit + state.bits.slice(index + 1));
}

function step(state, up) { // to the next code
  const count = 1n << BigInt(state.bits.length);
  const next = (BigInt(`0b${state.bits}`) + (up ? 1n : count - 1n)) % count;
  changeBits(state, next.toString(2).padStart(state.bits.length, "0"));
}

function changeBits(state, bits) {
  state.bits = bits;
  paintBits(state);
  send(state, { bits });
}

// A shape with a code makes it the code that is shown; of one whose code changes ("codePart") that may not be known yet.
function go(state, one) {
  if (one.dataset.code) changeBits(state, one.dataset.code);
}

function paintBits(state) {
  const { bits, data } = state;
  state.bitShapes.forEach((one, index) => {
    one.querySelector("text").textContent = bits[index];
    one.setAttribute("aria-checked", bits[index] === "1");
  });
  const found = new Map();
  for (const { first, last, prefix, parts, texts } of data.bits.tables) {
    const row = bits.slice(0, first).endsWith(prefix) ? texts[Number.parseInt(bits.slice(first, last) || "0", 2)] : undefined;
    parts.forEach((name, index) => found.set(name, row?.[index]));
  }
  for (const one of state.svg.querySelectorAll("[data-part]")) {
    if (found.has(one.dataset.part)) one.textContent = found.get(one.dataset.part) ?? "…";
  }
  for (const one of state.svg.querySelectorAll("[data-code-part]")) {
    one.dataset.code = found.get(one.dataset.codePart) ?? "";
  }
  for (const one of state.svg.querySelectorAll("[data-when]")) {
    const [name, text] = one.dataset.when.split("=");
    one.classList.toggle("here", found.get(name) === text);
  }
  mark(state);
}

// In a grid, the code that is shown, or the range of codes in which it is.
function mark(state) {
  for (const grid of state.svg.querySelectorAll("[data-columns]")) {
    for (const one of grid.querySelectorAll("[data-code]")) {
      const isShown = state.bits.startsWith(one.dataset.range ?? one.dataset.code);
      if (one.classList.contains("here") !== isShown) one.classList.toggle("here", isShown);
      if (one.getAttribute("aria-pressed") !== String(isShown)) one.setAttribute("aria-pressed", isShown);
      if (isShown && !grid.contains(grid.getRootNode().activeElement)) {
        for (const other of grid.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
        one.setAttribute("tabindex", "0");
      }
    }
  }
}

function write(state, name, text) {
  for (const one of state.svg.querySelectorAll(`[data-part="${name}"]`)) one.textContent = text;
}

// ---- a number that is dragged: its places are evenly spaced

function listenToDrag(state) {
  const { svg, data } = state;
  const handle = svg.querySelector("[data-drag]");
  if (!handle) return;
  handle.setAttribute("aria-valuemin", 0);
  handle.setAttribute("aria-valuemax", data.drag.values.length - 1);
  handle.setAttribute("aria-valuenow", state.place);
  const placeOf = (event) => {
    const matrix = svg.getScreenCTM().inverse();
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix).x;
    const { left, right } = state.drawing;
    const last = data.drag.values.length - 1;
    return Math.max(0, Math.min(last, Math.round(((x - left) / (right - left)) * last)));
  };
  const begin = (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    state.dragging = true;
    svg.setPointerCapture(event.pointerId);
    moveTo(state, placeOf(event));
  };
  for (const one of [handle, ...svg.querySelectorAll("[data-drag-area]")]) one.addEventListener("pointerdown", begin);
  svg.addEventListener("pointermove", (event) => { if (state.dragging) moveTo(state, placeOf(event)); });
  const end = () => {
    if (!state.dragging) return;
    state.dragging = false;
    release(state);
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  handle.addEventListener("keydown", (event) => {
    const last = data.drag.values.length - 1;
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    const target = { Home: 0, End: last }[event.key] ?? (by === undefined ? undefined : state.place + by);
    if (target === undefined) return;
    event.preventDefault();
    moveTo(state, Math.max(0, Math.min(last, target)));
    release(state);
  });
}

function release(state) {
  if (state.late) { // what the server sent meanwhile
    state.late = false;
    state.shown = null;
  }
  const { field, values } = state.data.drag;
  send(state, { field, value: values[state.place] });
}

function moveTo(state, place) {
  if (place === state.place) return;
  state.place = place;
  paintPlace(state);
}

function paintPlace(state) {
  const { svg, drawing, data, place } = state;
  const last = data.drag.values.length - 1;
  const x = drawing.left + ((drawing.right - drawing.left) * place) / last;
  const handle = svg.querySelector("[data-drag]");
  handle?.setAttribute("aria-valuenow", place);
  handle?.setAttribute("aria-valuetext", data.drag.values[place]);
  for (const one of svg.querySelectorAll("[data-follow]")) {
    const places = drawing.places[one.dataset.follow];
    const [dx, dy] = places ? places[place] : [x - drawing.at, 0];
    one.setAttribute("transform", `translate(${dx} ${dy})`);
  }
  for (const one of svg.querySelectorAll("[data-first]")) {
    one.classList.toggle("here", place >= Number(one.dataset.first) && place <= Number(one.dataset.last));
  }
  for (const [name, texts] of Object.entries(data.drag.parts)) write(state, name, texts[place]);
}

// ---- saving: the drawing that is shown, with the colours of the page as they are

function saving(state) {
  const { data, root } = state;
  for (const button of root.querySelectorAll(".save button")) {
    const kind = button.dataset.kind;
    const name = `${data.name}.${kind}`;
    button.title = `Save ${name}`;
    button.setAttribute("aria-label", `${kind.toUpperCase()}: save ${data.name}`);
    button.onclick = () => save(resolved(state.svg), name, kind);
  }
}

function resolved(svg) {
  const copy = svg.cloneNode(true);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ");
  const shown = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((one, index) => {
    const style = getComputedStyle(shown[index]);
    for (const name of ["fill", "stroke"]) if (one.hasAttribute(name)) one.setAttribute(name, style[name]);
    if (one.tagName === "text") one.setAttribute("font-family", style.fontFamily);
    if (style.visibility === "hidden") one.setAttribute("visibility", "hidden");
    for (const { name } of [...one.attributes]) if (/^(data-|tabindex|style|class)/.test(name)) one.removeAttribute(name);
  });
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return copy;
}
