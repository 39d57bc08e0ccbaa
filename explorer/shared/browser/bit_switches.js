// Bits as switches: click, drag across, Space; left and right move, up and down step one code.
// It repaints at once and counts its changes (seq). The server's state is taken over only if it has the newest count,
// so that a click during a run is not lost.
const states = new WeakMap();

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".bits");
  const state = states.get(root) ?? { seq: -1, bits: "", format: "", focus: 0, dragged: null };
  states.set(root, state);
  state.send = setStateValue;
  if (data.format !== state.format || data.seq >= state.seq) {
    const rebuild = data.format !== state.format;
    state.seq = data.seq;
    state.bits = data.bits;
    state.format = data.format;
    if (rebuild) build(root, state, data.fields, data.field);
  }
  paint(state);
}

function build(root, state, fields, field) {
  const hadFocus = root.contains(root.getRootNode().activeElement);
  root.textContent = "";
  root.dataset.field = field;
  root.className = state.bits.length > 16 ? "bits long" : "bits";
  state.buttons = [];
  state.focus = Math.min(state.focus, state.bits.length - 1);
  for (const part of fields) {
    const group = document.createElement("div");
    group.className = "field " + part.name;
    const row = document.createElement("div");
    row.className = "row";
    for (let index = part.first; index < part.last; index++) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("role", "switch");
      button.setAttribute("aria-label", `${part.label} bit ${state.bits.length - 1 - index}`);
      button.addEventListener("pointerdown", (event) => press(event, state, index));
      button.addEventListener("pointerenter", () => drag(state, index));
      button.addEventListener("click", (event) => { if (event.detail === 0) flip(state, index); }); // Space, readers
      button.addEventListener("keydown", (event) => key(event, state, index));
      button.addEventListener("focus", () => { state.focus = index; setTabStop(state); });
      state.buttons.push(button);
      row.append(button);
    }
    const label = document.createElement("div");
    label.className = "label";
    label.textContent = part.label;
    group.append(row, label);
    root.append(group);
  }
  const stop = () => { state.dragged = null; };
  root.onpointerup = stop;
  root.onpointerleave = stop;
  root.onpointercancel = stop;
  setTabStop(state);
  if (hadFocus) state.buttons[state.focus].focus();
}

function press(event, state, index) {
  if (event.button !== 0) return;
  event.preventDefault();
  const button = state.buttons[index];
  if (button.hasPointerCapture(event.pointerId)) button.releasePointerCapture(event.pointerId); // touch captures
  button.focus();
  state.dragged = state.bits[index] === "1" ? "0" : "1";
  setBit(state, index, state.dragged);
}

function drag(state, index) {
  if (state.dragged !== null && state.bits[index] !== state.dragged) setBit(state, index, state.dragged);
}

function flip(state, index) {
  setBit(state, index, state.bits[index] === "1" ? "0" : "1");
}

function setBit(state, index, bit) {
  change(state, state.bits.slice(0, index) + bit + state.bits.slice(index + 1));
}

function change(state, bits) {
  state.bits = bits;
  state.seq += 1;
  paint(state);
  state.send("clicked", { bits: state.bits, seq: state.seq });
}

function key(event, state, index) {
  const last = state.bits.length - 1;
  const target = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last }[event.key];
  if (target !== undefined) state.buttons[Math.max(0, Math.min(last, target))].focus();
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const count = 1n << BigInt(state.bits.length);
    const step = event.key === "ArrowUp" ? 1n : count - 1n;
    change(state, ((BigInt("0b" + state.bits) + step) % count).toString(2).padStart(state.bits.length, "0"));
  } else return;
  event.preventDefault();
}

function setTabStop(state) {
  state.buttons.forEach((button, index) => { button.tabIndex = index === state.focus ? 0 : -1; });
}

function paint(state) {
  state.buttons.forEach((button, index) => {
    button.textContent = state.bits[index];
    button.setAttribute("aria-checked", state.bits[index] === "1");
  });
}
